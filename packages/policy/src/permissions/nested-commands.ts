import { cachedPerJudgement } from '../files/lookup-cache.ts'
import type { ShellAnalysis, SimpleCommand } from '../shell/analysis.ts'
import { isHarmlessVariable, isShellLocal } from '../shell/read-only.ts'
import { memoizeByPair } from '../shell/memoize.ts'
import { equivalentCommands, runsUnknown, wordsOfText } from '../shell/subcommands/equivalent-commands.ts'
import { unknownSubcommands } from '../shell/subcommands/unknown-subcommands.ts'
import { commandsInValue, mightBeCommands, type PossibleCommands } from '../shell/unseen-code.ts'
import { type ShellWord, valuesOf } from '../shell/words.ts'
import { formsOf, nameOf, possibleCommands } from '../shell/wrappers.ts'
import { isAboutProgram, isAboutSubcommands, matchCommand } from './command-pattern.ts'
import { type GitMeaning, gitMeaning } from './git-aliases.ts'
import type { Whereabouts } from './places.ts'
import type { PermissionRule } from './rule.ts'
import {
  aliasMayRun,
  commandMayRun,
  commandsNotAnalyzed,
  programRenamed,
  ruleMayApply,
  unknownProgram,
  variableMayRun,
} from './command-texts.ts'

/** Every command that may run inside this one, including those of git aliases, and the git subcommand that is unknown, if any. */
export function nestedCommands(
  simple: SimpleCommand,
  { variables }: ShellAnalysis,
  whereabouts: Whereabouts,
): GitMeaning {
  const known = meanings(simple, whereabouts)
  const before = known.get(variables)
  if (before !== undefined) return before
  const found = findCommands(simple, variables, whereabouts)
  known.set(variables, found)
  return found
}

const meanings = cachedPerJudgement(
  (_simple: SimpleCommand, _whereabouts: Whereabouts) => new Map<readonly string[], GitMeaning>(),
)

function findCommands(simple: SimpleCommand, variables: readonly string[], whereabouts: Whereabouts): GitMeaning {
  const forms = equivalentCommands(simple.words)
  const meanings = forms.map((words) => gitMeaning(words, whereaboutsOfGit(simple, variables, whereabouts)))
  const unknown = meanings.find((meaning) => meaning.unknown !== undefined)?.unknown
  return {
    commands: [...forms, ...meanings.flatMap(({ commands }) => commands)],
    ...(unknown !== undefined && { unknown }),
  }
}

/** Variables that the line sets may make git use another repository or other settings. */
export function whereaboutsOfGit(
  { assignments }: SimpleCommand,
  variables: readonly string[],
  whereabouts: Whereabouts,
): Whereabouts {
  const set = [...variables, ...assignments.map(({ value }) => value.split(/[+[=]/, 1)[0] ?? '')]
  const isElsewhere = set.some((name) => /^(?:GIT_(?!AUTHOR|COMMITTER)|HOME$|XDG_CONFIG_HOME$)/.test(name))
  return isElsewhere ? { ...whereabouts, isUnknown: true } : whereabouts
}

/** Why a line may run a command of one of these rules although it is not visible in the line; undefined if it cannot. */
export function hiddenCommandProblem(
  analysis: ShellAnalysis,
  rules: readonly PermissionRule[],
  whereabouts: Whereabouts,
): string | undefined {
  const ruleFor = (isAbout: (pattern: string) => boolean): PermissionRule | undefined =>
    rules.find(({ spec }) => spec.kind === 'command' && isAbout(spec.pattern))
  for (const simple of analysis.commands) {
    const { words, assignments } = simple
    for (const assignment of assignments) {
      const [name = ''] = assignment.value.split(/[+[=]/, 1)
      const texts = commandsInValue(assignment, isHarmlessVariable(name) || isShellLocal(name))
      if (texts === undefined) return commandsNotAnalyzed(name)
      const rule = ruleForTexts(rules, texts)
      if (rule !== undefined) return variableMayRun(name, rule.source)
    }
    if (possibleCommands(words).some(runsUnknown)) return unknownProgram(words[0]?.value ?? '')
    const { commands, unknown } = nestedCommands(simple, analysis, whereabouts)
    const dynamic = ruleFor((pattern) => commands.some((form) => matchCommand(pattern, form) === 'maybe'))
    if (dynamic !== undefined) return ruleMayApply(dynamic.source)
    if (unknown !== undefined) {
      const rule = ruleFor((pattern) => isAboutSubcommands(pattern, 'git'))
      if (rule !== undefined) return aliasMayRun(`git ${unknown}`, rule.source)
    }
    const aliased = commands
      .flatMap(unknownSubcommands)
      .filter(({ family }) => family !== 'git')
      .map((other) => ({ ...other, rule: ruleFor((pattern) => isAboutSubcommands(pattern, other.family)) }))
      .find(({ rule }) => rule !== undefined)
    if (aliased?.rule !== undefined) return aliasMayRun(`${aliased.family} ${aliased.name}`, aliased.rule.source)
    const renamed = ruleFor((pattern) => copiedPrograms(words, analysis).some((name) => isAboutProgram(pattern, name)))
    if (renamed !== undefined) return programRenamed(renamed.source)
    const rule = ruleForPossible(rules, mightBeCommands(words))
    if (rule !== undefined) return commandMayRun(words[0]?.value ?? '', rule.source)
  }
  return undefined
}

function ruleForTexts(rules: readonly PermissionRule[], texts: readonly string[]): PermissionRule | undefined {
  const forms = texts.map(wordsOfText)
  return rules.find(
    ({ spec }) =>
      spec.kind === 'command' &&
      (texts.some((text) => spec.matches(text)) || forms.some((form) => matchCommand(spec.pattern, form) === 'yes')),
  )
}

const ruleForPossible = memoizeByPair(
  (rules: readonly PermissionRule[], { commands, texts }: PossibleCommands): PermissionRule | undefined =>
    ruleForTexts(rules, [...commands.map(valuesOf), ...texts]) ??
    rules.find(
      ({ spec }) => spec.kind === 'command' && commands.some((form) => matchCommand(spec.pattern, form) === 'yes'),
    ),
)

/** Programs that a command copies or links: `cp /usr/bin/git g`. */
function copiedPrograms(words: readonly ShellWord[], { commands }: ShellAnalysis): readonly string[] {
  const [name = '', ...values] = (formsOf(words).at(-1) ?? []).map(({ value }) => value)
  if (!/^(?:cp|mv|ln|install|rsync)$/.test(nameOf(name))) return []
  // `cp "$(which git)" g`: the name of the program is in a command substitution.
  const lookedUp = words.some(({ kind }) => kind === 'dynamic')
    ? commands.flatMap((other) =>
        /^(?:which|type|command|whereis)$/.test(other.words[0]?.value ?? '')
          ? other.words.slice(1).map(({ value }) => value)
          : [],
      )
    : []
  return [...values.filter((value) => value.includes('/')), ...lookedUp]
}
