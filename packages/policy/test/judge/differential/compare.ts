import type { ShellAnalysis } from '../../../src/shell/analysis.ts'
import { unseenCode } from '../../../src/shell/unseen-code.ts'
import type { ShellWord } from '../../../src/shell/words.ts'
import { formsOf, nameOf, possibleCommands, runsItsArguments } from '../../../src/shell/wrappers.ts'
import type { World } from '../world.ts'
import type { TracedRun } from './traced-run.ts'

/** Whether an analysis claims to name everything that runs. Otherwise a person is asked, and deny rules are in doubt (`doubtAbout`). */
export function claimsAll({ opaque, commands }: ShellAnalysis): boolean {
  return (
    opaque.length === 0 &&
    commands.every(({ words, hasInput }) =>
      possibleCommands(words).every((form) => unseenCode(form, hasInput) === undefined),
    )
  )
}

/** What ran, was written or was read and is missing in the analysis; empty if nothing is. */
export function unnamedIn(run: TracedRun, analysis: ShellAnalysis, world: World): readonly string[] {
  return [
    ...new Set([
      ...unnamedCommands(run, analysis, world),
      ...unnamedStarts(run, analysis),
      ...unnamedFiles(run, analysis),
    ]),
  ]
}

function unnamedCommands({ commands }: TracedRun, analysis: ShellAnalysis, world: World): readonly string[] {
  const forms = analysis.commands.flatMap(({ words }) => formsOf(words)).filter((words) => words.length > 0)
  const shapes = forms.map((words) => shapeOf(words, world))
  return commands
    .filter((words) => !shapes.some((shape) => shape.test(textOf(words))))
    .map((words) => `ran ${words.map((word) => JSON.stringify(word)).join(' ')}`)
}

/** Programs that start others pass on words that are only known at run time. */
function unnamedStarts({ started }: TracedRun, { commands }: ShellAnalysis): readonly string[] {
  if (commands.some(({ words }) => runsItsArguments(words) && words.some(({ kind }) => kind === 'dynamic'))) return []
  const names = new Set(commands.flatMap(({ words }) => words.map(({ value }) => nameOf(value))))
  return started.filter((name) => !names.has(name)).map((name) => `started ${name}`)
}

function unnamedFiles({ written, missed }: TracedRun, { commands, redirects }: ShellAnalysis): readonly string[] {
  const unnamed = (files: readonly string[], directions: readonly string[]): readonly string[] => {
    const targets = redirects.filter(({ direction }) => directions.includes(direction)).map(({ target }) => target)
    if (targets.some(({ kind }) => kind !== 'literal')) return []
    const named = new Set(targets.map(({ value }) => nameOf(bytesOf(value))))
    return files.filter((file) => !named.has(file))
  }
  // It creates files named by its arguments.
  const isMaker = commands.some(({ words }) => words.some(({ value }) => /^(?:find|history)$/.test(nameOf(value))))
  return [
    ...(isMaker ? [] : unnamed(written, ['out'])).map((file) => `wrote ${JSON.stringify(file)}`),
    ...unnamed(missed, ['in', 'out']).map((file) => `read ${JSON.stringify(file)}`),
  ]
}

const bytesOf = (text: string): string => Buffer.from(text, 'utf8').toString('latin1')

/** Follows each word of a command. */
const border = '\u0000'
const textOf = (words: readonly string[]): string => words.map((word) => `${word}${border}`).join('')

const anyWord = `[^${border}]*${border}`

/** The possible words of a command. */
function shapeOf(words: readonly ShellWord[], world: World): RegExp {
  return new RegExp(`^${words.map((word) => patternOf(word, world)).join('')}$`, 's')
}

function patternOf({ kind, value, isOne }: ShellWord, world: World): string {
  if (kind === 'dynamic') return isOne === true ? anyWord : `(?:${anyWord})*`
  const bytes = bytesOf(value)
  if (kind === 'literal') return `${literalPattern(bytes, world)}${border}`
  // Its matches, or itself if nothing matches.
  return `(?:(?:${globPattern(bytes, world)}${border})+|${literalPattern(bytes.replaceAll(/\\(.)/gs, '$1'), world)}${border})`
}

/** `~` is the home directory, possibly in an assignment; `./~` is a quoted tilde; `.` may be `"$PWD"`. */
function literalPattern(value: string, { home, project }: World): string {
  const [, name, rest = ''] = /^([A-Za-z_]\w*=|)~((?:\/.*)?)$/s.exec(value) ?? []
  if (name === '') return escaped(`${home}${rest}`)
  if (name !== undefined) return `(?:${escaped(value)}|${escaped(`${name}${home}${rest}`)})`
  if (value.startsWith('./~')) return `(?:\\./)?${escaped(value.slice(2))}`
  return /^\.(?:\/|$)/.test(value) ? `(?:\\.|${escaped(project)})${escaped(value.slice(1))}` : escaped(value)
}

function globPattern(value: string, { home }: World): string {
  const rest = /^~(?:\/|$)/.test(value) ? value.slice(1) : value
  const parts = rest.match(/\\[\s\S]|[@?*+!]\(.*\)|\[[^\]]+\]|[\s\S]/g) ?? []
  const patterns = parts.map((part) => {
    // A character has at most four bytes.
    if (part === '?') return `[^${border}]{1,4}`
    if (part === '*' || /^[@?*+!]\(/.test(part)) return `[^${border}]*`
    if (part.length > 2) return `(?:[^${border}]{1,4}|${escaped(part)})`
    return escaped(part.length === 2 ? part.slice(1) : part)
  })
  return (rest === value ? '' : escaped(home)) + patterns.join('')
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\/-]/g, String.raw`\$&`)
}
