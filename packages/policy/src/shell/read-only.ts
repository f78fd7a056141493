import { analyseShell, type ShellAnalysis, type SimpleCommand } from './analysis.ts'
import { effectsOf, onlyReads, takesArbitraryText } from './command-effects.ts'
import { type Effect, unknownEffect, unseenEffect } from './effects.ts'
import { memoizeByWords } from './memoize.ts'
import { formsOf } from './wrappers.ts'
import type { ShellWord } from './words.ts'
import { xargsPassesUnknown } from './shell-texts.ts'

// Spec R-RULE-7.
/** Whether the command line changes nothing, according to the grammars. False in case of doubt. */
export function isReadOnlyCommand(command: string): boolean {
  return isReadOnlyAnalysis(analyseShell(command))
}

export function isReadOnlyAnalysis(analysis: ShellAnalysis): boolean {
  return (
    analysis.commands.length > 0 &&
    isPlain(analysis) &&
    analysis.commands.every((command) => isOnlyAssignments(command) || isReadOnlySimpleCommand(command)) &&
    analysis.redirects.every(({ direction, target }) => direction === 'in' || isHarmlessSink(target))
  )
}

/** Whether the line changes nothing, or only words that only the shell knows are in doubt: such a line may run if the kernel confines it to reading. */
export function isConfinableAnalysis(analysis: ShellAnalysis): boolean {
  return (
    analysis.commands.length > 0 &&
    analysis.opaque.length === 0 &&
    analysis.features.size === 0 &&
    analysis.variables.every(isHarmlessToConfined) &&
    analysis.commands.every(
      (command) =>
        isOnlyAssignments(command) ||
        (command.assignments.every(isHarmlessAssignment) &&
          effectsOfCommand(command).every(({ kind }) => kind === 'unseen' || harmlessEffects.has(kind))),
    ) &&
    analysis.redirects.every(({ direction, target }) => direction === 'in' || isHarmlessSink(target))
  )
}

/** Whether a variable changes neither which programs run nor how the shell reads words. */
function isHarmlessToConfined(name: string): boolean {
  return (
    isHarmlessVariable(name) || isShellLocal(name) || (/^[A-Z][A-Z0-9_]*$/.test(name) && !influencesConfined.test(name))
  )
}

const influencesConfined =
  /^(?:PATH|IFS|HOME|PWD|OLDPWD|CDPATH|ENV|SHELL|SHELLOPTS|BASH\w*|GLOBIGNORE|PS\d|PROMPT_COMMAND|TMPDIR|TMP|TEMP|POSIXLY_CORRECT|OPT\w+|FUNCNEST|LD_\w+|DYLD_\w+|GIT_\w+|GCONV_PATH|\w*PAGER|\w*EDITOR|VISUAL|LESS\w*|\w+_?OPT(?:IONS|S)?|\w+_CONFIG\w*|XDG_\w+|PYTHON\w*|PERL\w*|RUBY\w*|NODE_\w+|LUA_\w+)$/

/** Whether nothing in the line can change the meaning of its commands. */
function isPlain(analysis: ShellAnalysis): boolean {
  return (
    analysis.opaque.length === 0 &&
    analysis.features.size === 0 &&
    analysis.variables.every((name) => isHarmlessVariable(name) || isShellLocal(name))
  )
}

function isOnlyAssignments({ words }: SimpleCommand): boolean {
  return words.length === 0
}

/** Whether writing there has no lasting effect. */
export function isHarmlessSink(target: ShellWord): boolean {
  return target.kind === 'literal' && /^\/dev\/(?:null|stdout|stderr|tty|fd\/\d+)$/.test(target.value)
}

export function isHarmlessAssignment({ value }: ShellWord): boolean {
  return isHarmlessVariable(value.split(/\+?=/, 1)[0] ?? '')
}

/** Whether variables that are set for one command are harmless. IFS only changes how `read` splits a line. */
export function setsHarmlessly({ words, assignments }: SimpleCommand): boolean {
  const isOfRead = words[0]?.kind === 'literal' && words[0].value === 'read'
  return assignments.every(
    (assignment) =>
      isHarmlessAssignment(assignment) ||
      (isOfRead && assignment.kind === 'literal' && assignment.value.startsWith('IFS=')),
  )
}

/** Whether no program takes commands, libraries or paths of programs from the variable. */
export function isHarmlessVariable(name: string): boolean {
  return harmlessVariables.has(name) || /^LC_[A-Z]+$/.test(name)
}

/** Whether the variable is not passed to any program: names in the environment have capital letters, or are listed here. */
export function isShellLocal(name: string): boolean {
  const isLocal = /^[a-z][a-z0-9_]*$/.test(name) && !/_proxy$|^npm_|^histchars$/.test(name)
  return (isLocal || scratchNames.has(name)) && process.env[name] === undefined
}

/** Capital names that people use for the output of a command. Neither bash nor a described program uses them. */
const scratchNames: ReadonlySet<string> = new Set(
  (
    'BASE BRANCH BRANCHES CHANGED COMMIT COMMITS COUNT CURRENT CURRENT_BRANCH DIFF DIR DIRS FILE FILES FIRST HASH LAST ' +
    'LAST_TAG LATEST LATEST_TAG LINE MAIN_BRANCH MERGE_BASE N NAME NAMES NOW NUMBER OUTPUT PKG PREV PREVIOUS REF REPLY ' +
    'RESULT REV SHA SIZE TAG TAGS TODAY TOTAL UPSTREAM VERSION X Y'
  ).split(' '),
)

const harmlessVariables: ReadonlySet<string> = new Set(
  (
    'LANG TZ NO_COLOR FORCE_COLOR CI NODE_ENV COLUMNS LINES TERM RUST_BACKTRACE RUST_LOG GOOS GOARCH ' +
    'PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE DEBUG'
  ).split(' '),
)

/** The command alone, without its surroundings. Wrappers are removed. */
export function isReadOnlySimpleCommand(command: SimpleCommand): boolean {
  if (command.words.length === 0 || !setsHarmlessly(command)) return false
  return effectsOfCommand(command).every(({ kind }) => harmlessEffects.has(kind))
}

const harmlessEffects: ReadonlySet<Effect['kind']> = new Set<Effect['kind']>([
  'read',
  'read tree',
  'read through links',
  'list',
  'git',
  'chosen',
  'hardened',
])

/** Whether it changes nothing, as far as that is known. */
export function isHarmlessEffect({ kind }: Effect): boolean {
  return harmlessEffects.has(kind)
}

/** What a command does, without its wrappers. */
export function effectsOfCommand({ words }: SimpleCommand): readonly Effect[] {
  return effectsOfWords(words)
}

const effectsOfWords = memoizeByWords((words): readonly Effect[] => {
  const inner = formsOf(words).at(-1) ?? []
  const isFedArguments = words.length > inner.length && words.some(({ value }) => value === 'xargs')
  const effects = effectsOf(inner)
  if (!isFedArguments || takesArbitraryText(inner[0]?.value ?? '')) return effects
  // xargs passes on arguments that nobody has checked.
  const why = xargsPassesUnknown
  if (!onlyReads(inner[0]?.value ?? '')) return unknownEffect(why)
  return effects.every(({ kind }) => kind === 'unseen' || harmlessEffects.has(kind))
    ? [...effects, ...unseenEffect(why)]
    : unknownEffect(why)
})
