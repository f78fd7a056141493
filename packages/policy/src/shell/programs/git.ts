import { type Effect, type ParsedArguments, type Grammar, type ShownSettings, unknownEffect } from '../effects.ts'
import { configByVerb, gitCommands } from '../grammars/git.ts'
import { effectsByGrammar, literalWord, parseShellArguments } from '../read-grammar.ts'
import type { ShellWord } from '../words.ts'
import {
  changesWithArguments,
  convertsEncoding,
  gitPatternElsewhere,
  gitSettingNotHarmless,
  gitStashChanges,
  gitWithoutCommand,
  mayChange,
  runsGpg,
  tooManyColons,
  unknownGitCommand,
} from '../shell-texts.ts'

const globals: Grammar = {
  options: '-c:text -C:list --no-pager --no-optional-locks --literal-pathspecs --version',
  operands: ['text'],
  optionsFirst: true,
}

/** What a git command line (without `git`) does. Its settings are checked when the effect is judged. */
export function gitEffects(args: readonly ShellWord[]): readonly Effect[] {
  // The words after the subcommand are read with the grammar of the subcommand.
  const read = parseShellArguments(
    globals,
    args.map(({ couldBePattern: _, ...word }) => word),
  )
  if (read.kind !== 'read') return unknownEffect(read.why)
  const { options, operands } = read.parsed
  const folders = options.filter(({ name }) => name === '-C')
  const setting = options.find(({ name, value }) => name === '-c' && !isHarmlessSetting(value))?.value
  if (setting !== undefined) return unknownEffect(gitSettingNotHarmless(setting.value.split('=', 1)[0] ?? ''))
  const [command] = operands
  const rest = args.slice(args.length - operands.length + 1)
  if (command === undefined)
    return options.some(({ name }) => name === '--version') ? [] : unknownEffect(gitWithoutCommand)
  if (command.kind !== 'literal' || folders.length > 1 || folders[0]?.value?.kind === 'dynamic')
    return unknownEffect(unknownGitCommand)
  const isByVerb = command.value === 'config' && /^(?:get|list)$/.test(rest[0]?.value ?? '')
  const known = Object.hasOwn(gitCommands, command.value) ? gitCommands[command.value] : undefined
  const grammar = isByVerb ? configByVerb : known
  if (grammar === undefined) return unknownEffect(mayChange(`git ${command.value}`))
  const result = parseShellArguments(grammar, rest)
  // After an option, git reads the name as a file for a new stash: `git stash -p list`.
  if (command.value === 'stash' && !/^(?:list|show)$/.test(rest[0]?.value ?? '')) return unknownEffect(gitStashChanges)
  const folder = folders[0]?.value ?? literalWord('.')
  if (result.kind !== 'read')
    return result.kind === 'unknown'
      ? unknownEffect(result.why)
      : [
          { kind: 'list', word: folder },
          { kind: 'git', folder, history: true, entersSubmodules: intoSubmodules.has(command.value), readsIndex: true },
          { kind: 'unseen', why: result.why },
        ]
  const refused = refusal(command.value, result.parsed)
  if (refused !== undefined) return unknownEffect(refused)
  if (folder.value !== '.' && rest.some(({ kind }) => kind === 'glob')) return unknownEffect(gitPatternElsewhere)
  const paths = effectsByGrammar(grammar, rest).flatMap((effect): readonly Effect[] => {
    if (effect.kind !== 'read' && effect.kind !== 'list') return [effect]
    if (effect.word.isRevision === true) return []
    if (effect.word.value.split(':').length > 6) return unknownEffect(tooManyColons)
    return pathsIn(effect.word).map((word) => ({ kind: effect.kind, word: relativeTo(folder, word) }))
  })
  return [
    { kind: 'list', word: folder },
    {
      kind: 'git',
      folder,
      history: showsContent(command.value, result.parsed),
      entersSubmodules: intoSubmodules.has(command.value),
      readsIndex: indexReaders.has(command.value),
      ...shownSettings(command.value, result.parsed),
    },
    ...paths,
  ]
}

/** Names, in lower case, of settings for colors and formats. None names a program, a file or an address. */
const harmlessSettings: ReadonlySet<string> = new Set(
  (
    'column.ui core.quotepath core.abbrev log.date log.decorate log.abbrevcommit diff.renames diff.renamelimit diff.noprefix ' +
    'diff.mnemonicprefix diff.context diff.interhunkcontext diff.algorithm diff.colormoved status.short status.branch ' +
    'status.showstash status.relativepaths status.showuntrackedfiles status.aheadbehind grep.linenumber grep.column ' +
    'grep.patterntype blame.date blame.showemail branch.sort tag.sort'
  ).split(' '),
)

function isHarmlessSetting(word: ShellWord | undefined): boolean {
  const [, name = ''] = /^([A-Za-z.]+)(?:=[\w ,:.%+-]*)?$/.exec(word?.value ?? '') ?? []
  const key = name.toLowerCase()
  return word?.kind === 'literal' && (harmlessSettings.has(key) || /^color\.[a-z]+(?:\.[a-z]+)?$/.test(key))
}

/** URLs of repositories may contain tokens, and so may headers: a command that prints them is checked against their values. */
function shownSettings(command: string, parsed: ParsedArguments): { readonly shows?: ShownSettings } {
  const { operands, options } = parsed
  const [first, second] = operands.map(({ value }) => value)
  if (command === 'remote')
    return first !== undefined || hasOption(parsed, ['-v', '--verbose']) ? { shows: 'addresses' } : {}
  if (command !== 'config') return {}
  const looksUp = options.every(({ name }) => !/^(?:--list|-l|--get-regexp|--get-urlmatch|--regexp|--all)$/.test(name))
  const name = first === 'get' ? second : first
  return { shows: looksUp && first !== 'list' && name !== undefined ? { name } : 'all' }
}

const intoSubmodules: ReadonlySet<string> = new Set(['status', 'diff', 'grep', 'stash'])

const indexReaders: ReadonlySet<string> = new Set([...intoSubmodules, 'ls-files', 'check-attr', 'check-ignore'])

/** The paths that a word may name. In `HEAD:path` and `:0:path`, the text after a colon may be a path, and so may the whole word. */
function pathsIn(word: ShellWord): readonly ShellWord[] {
  const words = [word]
  for (let at = word.value.indexOf(':'); at !== -1 && words.length < 5; at = word.value.indexOf(':', at + 1)) {
    const value = word.value.slice(at + 1)
    if (value !== '') words.push({ ...word, value })
  }
  return words
}

function relativeTo(folder: ShellWord, word: ShellWord): ShellWord {
  return folder.value === '.' || /^[/~]/.test(word.value) ? word : { ...word, value: `${folder.value}/${word.value}` }
}

function hasOption({ options }: ParsedArguments, names: readonly string[]): boolean {
  return options.some(({ name }) => names.includes(name))
}

/** Where a setting is looked up, and how it is shown. */
const placesOfSettings: ReadonlySet<string> = new Set(
  '--global --local --system --worktree --show-origin --show-scope --null -z --includes --no-includes'.split(' '),
)

const listingOptions = ['--list', '--contains', '--no-contains', '--merged', '--no-merged', '--points-at']

/** Why a subcommand may change something anyway: with operands, some subcommands do something else. */
function refusal(command: string, parsed: ParsedArguments): string | undefined {
  const [first] = parsed.operands.map(({ value }) => value)
  if (parsed.options.some(startsGpg)) return runsGpg
  // Some converters of the C library write beyond their buffers, and the text comes from the author of the repository.
  if (parsed.options.some(({ name, value }) => name === '--encoding' && !/^utf-?8$/i.test(value?.value ?? '')))
    return convertsEncoding
  const isRead: boolean = ((): boolean => {
    switch (command) {
      case 'branch':
        return first === undefined || hasOption(parsed, listingOptions)
      case 'tag':
        return first === undefined || hasOption(parsed, [...listingOptions, '-l'])
      case 'remote':
        return (
          first === undefined ||
          (first === 'get-url' && parsed.options.every(({ name }) => name === '--push' || name === '--all'))
        )
      case 'config':
        // A pattern may expand to a name and a value, and a word that looks like an option may be one of these.
        if (parsed.operands.some(({ kind, value }) => kind !== 'literal' || value.startsWith('-'))) return false
        return (
          hasOption(parsed, ['--get', '--get-all', '--get-regexp', '--get-urlmatch', '--list', '-l']) ||
          first === 'get' ||
          first === 'list' ||
          // A single name is only looked up.
          (parsed.operands.length === 1 &&
            parsed.options.every(({ name }) => placesOfSettings.has(name)) &&
            /^[a-z][\w-]*\./i.test(first ?? ''))
        )
      case 'reflog':
        return first === undefined || first === 'show' || /^(?:HEAD|refs\/)/.test(first)
      case 'worktree':
        return first === 'list'
      default:
        return true
    }
  })()
  return isRead ? undefined : changesWithArguments(`git ${command}`)
}

/** Another program verifies signatures. */
function startsGpg({ name, value }: ParsedArguments['options'][number]): boolean {
  if (value === undefined || !/^--(?:format|pretty|sort)$/.test(name)) return false
  return value.kind !== 'literal' || /%G|%\(\*?signature|^-?\*?signature/.test(value.value)
}

const summaryOptions = [
  '--stat',
  '--name-only',
  '--name-status',
  '--shortstat',
  '--numstat',
  '--quiet',
  '--summary',
  '-s',
  '--no-patch',
  '--dirstat',
]

/** Options that show changes, independent of other options. */
const patchOptions = [
  '-p',
  '-u',
  '--patch',
  '-L',
  '-U',
  '--unified',
  '-c',
  '-m',
  '--cc',
  '--word-diff',
  '--color-words',
  '--binary',
  '-W',
  '--function-context',
  '--check',
]

/** Whether a word is the name of a commit and not an object id: the content of a file also has an id, and is shown with any options. */
function namesCommit({ value, kind }: ShellWord): boolean {
  return kind === 'literal' && /^[\w./@-]+(?:[~^]\d*)*$/.test(value) && !/^[0-9a-f]{4,}(?:[~^]|$)/i.test(value)
}

/** Whether present or past content of tracked files is shown. */
function showsContent(command: string, parsed: ParsedArguments): boolean {
  if (command === 'log' || command === 'stash' || command === 'diff-tree' || command === 'reflog')
    return hasOption(parsed, patchOptions)
  if (command === 'show' && !parsed.operands.every(namesCommit)) return true
  if (command === 'diff' || command === 'show' || command === 'whatchanged')
    return !hasOption(parsed, summaryOptions) || hasOption(parsed, patchOptions)
  if (command === 'status') return hasOption(parsed, ['-v', '--verbose'])
  return command === 'blame' || command === 'grep' || command === 'cat-file'
}
