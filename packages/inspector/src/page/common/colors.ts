import type { Phase } from '@halting/analysis'
import type { ItemKind } from '@halting/analysis/view'
import { isDark } from './theme.ts'

/** What `colors.css` gives a colour, as `--NAME`. */
export type ColorName =
  | 'paper'
  | 'box'
  | 'ink'
  | 'soft'
  | 'line'
  | 'accent'
  | 'good'
  | 'bad'
  | 'warn'
  | `kind-${ItemKind}`
  | `series-${1 | 2 | 3 | 4 | 5 | 6 | 7 | 8}`

/** The colour of a phase is that of the items which it is made of. */
export const phaseColors = {
  model: 'kind-attempt',
  tools: 'kind-tool',
  hooks: 'kind-hook',
  compaction: 'kind-compaction',
  checks: 'kind-check',
  waiting: 'kind-wait',
  other: 'kind-other',
} satisfies Record<Phase, ColorName>

/** An ending by its exit code: fine, a limit or a person, a failure; null is one that did not end. */
export function endingColor(exitCode: number | null): ColorName {
  if (exitCode === null) return 'soft'
  if (exitCode === 0) return 'good'
  return exitCode === 1 ? 'bad' : 'warn'
}

const known = new Map<string, string>()

/** A colour as a canvas takes it, for what is shown now. What calls it inside a component or an effect is drawn again when the theme changes. */
export function colorOf(name: ColorName): string {
  const key = `${isDark.value ? 'dark' : 'light'} ${name}`
  const found = known.get(key)
  if (found !== undefined) return found
  // A property of its own is not resolved by the browser; the colour of an element is.
  const probe = document.createElement('span')
  probe.style.color = `var(--${name})`
  document.body.append(probe)
  const color = getComputedStyle(probe).color
  probe.remove()
  known.set(key, color)
  return color
}
