import type { Style } from '../io/style.ts'
import type { Background } from './screen/modes.ts'

export type ThemeName = 'dark' | 'light' | 'none'

/** The syntactic roles of code. */
export type CodeRole = 'keyword' | 'string' | 'number' | 'comment' | 'name' | 'type' | 'meta' | 'added' | 'removed'

/** Each code resets only what it set, so that styles can be nested. */
const codes = {
  bold: [1, 22],
  dim: [2, 22],
  italic: [3, 23],
  underline: [4, 24],
  strikethrough: [9, 29],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  blue: [34, 39],
  magenta: [35, 39],
  cyan: [36, 39],
} as const

/** A colour of the terminal's palette, or a text style. */
type Paint = keyof typeof codes

const dark = {
  bold: 'bold',
  dim: 'dim',
  italic: 'italic',
  underline: 'underline',
  strikethrough: 'strikethrough',
  red: 'red',
  green: 'green',
  yellow: 'yellow',
  heading: 'cyan',
  link: 'blue',
  code: 'cyan',
  border: 'dim',
  keyword: 'magenta',
  string: 'green',
  number: 'yellow',
  comment: 'dim',
  name: 'blue',
  type: 'cyan',
  meta: 'yellow',
  added: 'green',
  removed: 'red',
} as const

/** The parts of the display that have a colour or style. */
export type Role = keyof typeof dark

/** Yellow and cyan are hard to read on a light background. */
const light: Record<Role, Paint> = {
  ...dark,
  yellow: 'magenta',
  heading: 'blue',
  code: 'blue',
  number: 'red',
  type: 'blue',
  meta: 'magenta',
}

const palettes: Record<Exclude<ThemeName, 'none'>, Record<Role, Paint>> = { dark, light }

export const themeNames: readonly ThemeName[] = ['dark', 'light', 'none']

export function themeNamed(name: string | undefined): ThemeName | undefined {
  return themeNames.find((known) => known === name)
}

/** The current theme. Functions obtained earlier use the theme that is current when they paint. */
export interface Theme {
  readonly names: readonly ThemeName[]
  readonly current: ThemeName
  choose(name: ThemeName): void
  paint(role: Role, text: string): string
  readonly style: Style
}

export function createTheme(first: ThemeName): Theme {
  let current = first
  const paint = (role: Role, text: string): string => {
    if (current === 'none' || text === '') return text
    const [on, off] = codes[palettes[current][role]]
    return `\u001B[${on}m${text}\u001B[${off}m`
  }
  return {
    names: themeNames,
    get current() {
      return current
    },
    choose(name) {
      current = name
    },
    paint,
    style: {
      bold: (text) => paint('bold', text),
      dim: (text) => paint('dim', text),
      red: (text) => paint('red', text),
      green: (text) => paint('green', text),
      yellow: (text) => paint('yellow', text),
    },
  }
}

/** The initial theme: the chosen one; none with `NO_COLOR`; else by the background that the terminal or `COLORFGBG` reports (spec R-TERM-12). */
export function firstTheme(
  chosen: ThemeName | undefined,
  env: Readonly<Record<string, string | undefined>>,
  background: Background | undefined,
): ThemeName {
  if (chosen !== undefined) return chosen
  if ((env['NO_COLOR'] ?? '') !== '') return 'none'
  return background ?? backgroundIn(env['COLORFGBG']) ?? 'dark'
}

/** `15;0`, `0;default;15`: the last number is the background colour. */
function backgroundIn(colours: string | undefined): Background | undefined {
  const number = /;(\d{1,2})$/.exec(colours ?? '')?.[1]
  if (number === undefined) return undefined
  return Number(number) < 7 || number === '8' ? 'dark' : 'light'
}
