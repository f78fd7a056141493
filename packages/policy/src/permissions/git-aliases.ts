import { absolutePath } from '../files/paths.ts'
import { aliasesSetBy, commandsOfAlias, gitFolders, isGit } from '../shell/subcommands/git-commands.ts'
import { unknownSubcommands } from '../shell/subcommands/unknown-subcommands.ts'
import type { ShellWord } from '../shell/words.ts'
import { settingsInForce } from './git-settings.ts'
import type { Whereabouts } from './places.ts'

type Words = readonly ShellWord[]

export interface GitMeaning {
  /** The commands that the aliases of the git command stand for. */
  readonly commands: readonly Words[]
  /** A subcommand that is neither known nor an alias, or an alias that cannot be resolved. */
  readonly unknown?: string
}

const deepest = 5
/** Maximum number of words of a command that may be its subcommand. */
const maxNames = 3

/** What a git command does through aliases: aliases that the command sets, and aliases in the settings of its folder. */
export function gitMeaning(words: Words, whereabouts: Whereabouts, depth: number = 0): GitMeaning {
  const set = aliasesSetBy(words)
  const commands: Words[] = []
  // An alias that the command sets may be used later.
  for (const { value } of set) commands.push(...commandsOfAlias(value.value, []))
  let unknown = set.find(({ value }) => value.kind !== 'literal')?.name
  const unknownNames = isGit(words) ? unknownSubcommands(words) : []
  if (unknownNames.length > maxNames) unknown ??= unknownNames[0]?.name
  for (const { name, rest } of unknownNames.slice(0, maxNames)) {
    const own = set.filter((alias) => alias.name.toLowerCase() === name.toLowerCase()).map(({ value }) => value.value)
    const values = own.length > 0 ? own : aliasInSettings(name, words, whereabouts)
    if (values.length === 0 || depth >= deepest || values.some((value) => value.startsWith('!'))) unknown ??= name
    if (depth >= deepest) continue
    for (const value of values) {
      for (const command of commandsOfAlias(value, rest)) {
        const meant = gitMeaning(command, whereabouts, depth + 1)
        commands.push(command, ...meant.commands)
        unknown ??= meant.unknown
      }
    }
  }
  return { commands, ...(unknown !== undefined && { unknown }) }
}

const readsOtherSettings = /^(?:--config-env|--git-dir|include(?:if)?\.)/i

/** Undefined if there is no such alias, or if a settings file cannot be parsed. */
function aliasInSettings(name: string, words: Words, whereabouts: Whereabouts): readonly string[] {
  const { directories, isUnknown } = whereabouts
  const steps = gitFolders(words)
  if (
    isUnknown ||
    words.some(({ value }) => readsOtherSettings.test(value)) ||
    steps.some(({ kind }) => kind !== 'literal')
  )
    return []
  return directories.flatMap((start) => {
    const folder = steps.reduce((from, { value }) => absolutePath(value, from), start)
    const found = settingsOf(folder, whereabouts)?.filter(
      ({ section, key }) =>
        (section === 'alias' && key === name.toLowerCase()) || (section === `alias.${name}` && key === 'command'),
    )
    const last = found?.at(-1)?.value
    return last === undefined ? [] : [last]
  })
}

type Settings = ReturnType<typeof settingsInForce>

/** Cached, because judging one line requests the same settings many times. */
const settingsCache = new WeakMap<Whereabouts, Map<string, Settings>>()

function settingsOf(folder: string, whereabouts: Whereabouts): Settings {
  const byFolder = settingsCache.get(whereabouts) ?? new Map<string, Settings>()
  settingsCache.set(whereabouts, byFolder)
  if (!byFolder.has(folder)) byFolder.set(folder, settingsInForce(folder))
  return byFolder.get(folder)
}
