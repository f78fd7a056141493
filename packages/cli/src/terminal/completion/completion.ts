import { readdir } from 'node:fs/promises'
import { dirname, isAbsolute, join } from 'node:path'
import { homeFolder } from '@halting/policy/files'
import type { AutocompleteItem, AutocompleteProvider } from '@earendil-works/pi-tui/dist/autocomplete.js'
import { fuzzyMatch } from '@earendil-works/pi-tui/dist/fuzzy.js'
import { oneLine } from '../../io/figures.ts'
import type { FileList } from './file-list.ts'

/** A command as completion offers it. */
interface CompletedCommand {
  readonly name: string
  readonly description: string
  readonly argumentHint?: string
  /** Possible arguments. */
  readonly values?: () => readonly AutocompleteItem[]
}

interface CompletionOptions {
  readonly cwd: string
  /** The list of files; undefined if files are on another machine, so that none are offered. */
  readonly files: FileList | undefined
  readonly commands: () => readonly CompletedCommand[]
}

const maxItems = 50

/**
 * Completion in the editor: `/` commands and their arguments, `@` files of the project at the start of a word, and paths with Tab.
 * `@path#20-45` keeps its line range.
 */
export function completionOf({ cwd, files, commands }: CompletionOptions): AutocompleteProvider {
  return {
    async getSuggestions(lines, cursorLine, cursorCol, { signal, force = false }) {
      const before = (lines[cursorLine] ?? '').slice(0, cursorCol)
      const slash = cursorLine === 0 ? /^\s*(\/\S*)$/.exec(before)?.[1] : undefined
      if (slash !== undefined && !slash.slice(1).includes('/'))
        return suggestions(commandItems(slash.slice(1), commands()), slash)
      const [, name, argument] = (cursorLine === 0 && /^\s*\/(\S+)\s+(\S*)$/.exec(before)) || []
      if (name !== undefined && argument !== undefined && !argument.startsWith('@')) {
        const values =
          commands()
            .find((command) => command.name === name)
            ?.values?.() ?? []
        const found = rankByMatch(values, argument, ({ value }) => value)
        return suggestions(unlessComplete(found, argument), argument)
      }
      if (files === undefined) return null
      const mention = /(?:^|[\s(])(@(?:"[^"]*|[^\s"]*))$/.exec(before)?.[1]
      if (mention !== undefined) {
        const found = await mentionItems(mention, files, cwd, signal)
        return suggestions(unlessComplete(found, mention), mention)
      }
      if (!force) return null
      const word = /(?:^|\s)(\S*)$/.exec(before)?.[1] ?? ''
      return suggestions(await pathItems(word, cwd, ''), word)
    },
    applyCompletion(lines, cursorLine, cursorCol, { value }, prefix) {
      const line = lines[cursorLine] ?? ''
      const head = line.slice(0, cursorCol - prefix.length)
      const tail = line.slice(cursorCol)
      const isFolder = value.endsWith('/') || value.endsWith('/"')
      const blank = isFolder || tail.startsWith(' ') ? '' : ' '
      // After a quoted folder, the person continues within the quotes.
      const inserted = isFolder && value.endsWith('"') ? value.slice(0, -1) : value
      const next = [...lines]
      next[cursorLine] = `${head}${inserted}${blank}${tail}`
      return { lines: next, cursorLine, cursorCol: head.length + inserted.length + blank.length }
    },
    shouldTriggerFileCompletion: () => true,
  }
}

/** No items if one is typed completely: with an open menu, Enter would complete it instead of sending. */
function unlessComplete(items: readonly AutocompleteItem[], typed: string): readonly AutocompleteItem[] {
  return items.some(({ value }) => value === typed) ? [] : items
}

function suggestions(
  items: readonly AutocompleteItem[],
  prefix: string,
): { readonly items: AutocompleteItem[]; readonly prefix: string } | null {
  return items.length === 0 ? null : { items: items.slice(0, maxItems), prefix }
}

function commandItems(typed: string, commands: readonly CompletedCommand[]): readonly AutocompleteItem[] {
  const items = commands.map(({ name, description, argumentHint = '' }) => ({
    value: `/${name}`,
    label: `/${name}`,
    // The hint comes last, because the list truncates long descriptions.
    description: oneLine(`${description}${argumentHint === '' ? '' : ` · ${argumentHint}`}`, 200),
  }))
  const prefix = items.filter(({ value }) => value.slice(1).startsWith(typed))
  const others = rankByMatch(
    items.filter((item) => !prefix.includes(item)),
    typed,
    ({ value }) => value,
  )
  return [...prefix, ...others]
}

/** Nothing is offered for line ranges: `@src/a.ts#20` has its path already. */
async function mentionItems(
  mention: string,
  files: FileList,
  cwd: string,
  signal: AbortSignal,
): Promise<readonly AutocompleteItem[]> {
  const typed = mention.replace(/^@"?/, '')
  if (typed.includes('#')) return []
  if (/^(?:~?\/|\.\.?\/)/.test(typed)) return pathItems(typed, cwd, '@')
  const paths = await files.paths(signal)
  const found = typed === '' ? paths.filter((path) => !path.slice(0, -1).includes('/')) : bestPaths(paths, typed)
  return found.slice(0, maxItems).map((path) => itemOf(path, '@'))
}

/** The entries of the folder that was typed. */
async function pathItems(typed: string, cwd: string, sign: string): Promise<readonly AutocompleteItem[]> {
  const folder = typed.endsWith('/') || typed === '' ? typed : typed.slice(0, typed.lastIndexOf('/') + 1)
  const prefix = typed.slice(folder.length)
  const place = folder === '' ? cwd : placeOf(folder, cwd)
  try {
    const entries = await readdir(place, { withFileTypes: true })
    return entries
      .filter(({ name }) => name.startsWith(prefix) && (prefix.startsWith('.') || !name.startsWith('.')))
      .filter(({ name }) => !/\p{Cc}/u.test(name))
      .toSorted((one, other) => (one.name < other.name ? -1 : 1))
      .slice(0, maxItems)
      .map((entry) => itemOf(`${folder}${entry.name}${entry.isDirectory() ? '/' : ''}`, sign))
  } catch {
    return []
  }
}

function placeOf(folder: string, cwd: string): string {
  if (folder.startsWith('~/')) return join(homeFolder(), folder.slice(2))
  return isAbsolute(folder) ? folder : join(cwd, folder)
}

function itemOf(path: string, sign: string): AutocompleteItem {
  const needsQuotes = sign !== '' && /\s/.test(path)
  const folder = dirname(path)
  return {
    value: `${sign}${needsQuotes ? `"${path}"` : path}`,
    label: path.slice(path.lastIndexOf('/', path.length - 2) + 1),
    ...(folder !== '.' && { description: folder }),
  }
}

function rankByMatch<T>(items: readonly T[], typed: string, textOf: (item: T) => string): readonly T[] {
  if (typed === '') return items
  return items
    .flatMap((item) => {
      const { matches, score } = fuzzyMatch(typed, textOf(item))
      return matches ? [{ item, score }] : []
    })
    .toSorted((one, other) => one.score - other.score)
    .map(({ item }) => item)
}

/** Prefix matches first, then substrings, then scattered letters; shorter paths first. */
function bestPaths(paths: readonly string[], typed: string): readonly string[] {
  const lower = typed.toLowerCase()
  const levels: string[][] = [[], [], []]
  for (const path of paths) {
    const whole = path.toLowerCase()
    const name = whole.slice(whole.lastIndexOf('/', whole.length - 2) + 1)
    if (whole.startsWith(lower) || name.startsWith(lower)) levels[0]?.push(path)
    else if (whole.includes(lower)) levels[1]?.push(path)
    else if (isWithin(lower, whole)) levels[2]?.push(path)
  }
  return levels.flatMap((level) => level.toSorted((one, other) => one.length - other.length || (one < other ? -1 : 1)))
}

/** Whether the text contains all letters in this order. */
function isWithin(letters: string, text: string): boolean {
  let at = 0
  for (const letter of letters) {
    at = text.indexOf(letter, at) + 1
    if (at === 0) return false
  }
  return true
}
