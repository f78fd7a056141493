import type { Goal, GoalSpec, RunOptions } from '@halting/core'
import { durationMs } from '@halting/core/adapters'
import type { Settings } from '@halting/policy/settings'
import type { ProtectRules } from '../goals/protected-globs.ts'
import type { SessionGoals } from '../goals/session-goals.ts'
import type { Workspace } from '../tools/workspace.ts'
import type { SessionChoices } from './choices.ts'
import type { Toolbox } from './toolbox.ts'

/** Goals that a user or a program chooses; a program may have its own kinds of goals. */
export interface GoalChoices extends Pick<
  SessionChoices,
  'goal' | 'untilTries' | 'untilTimeout' | 'untilStable' | 'skipIfMet' | 'stopWhenMet' | 'protect'
> {
  /** Commands that must all exit with 0, and goals of the program. */
  readonly until?: readonly (string | Goal)[] | undefined
}

type GoalSettings = Pick<Settings, 'until' | 'untilTries' | 'untilTimeout' | 'protect'>

/** The run options for goals. */
type GoalOptions = Pick<RunOptions, 'until' | 'maxGoalTries' | 'skipIfMet' | 'stopWhenMet' | 'goalFiles' | 'goalNamed'>

/** All protected globs, of choices and settings. */
function protectedBy({ protect = [] }: GoalChoices, settings: GoalSettings): readonly string[] {
  return [...new Set([...protect, ...(settings.protect ?? [])])]
}

/**
 * The rules that protect files; undefined if there are none.
 * @throws ConfigurationError for invalid globs.
 */
export async function protectRulesOf(
  choices: GoalChoices,
  settings: GoalSettings,
  cwd: string,
): Promise<ProtectRules | undefined> {
  const globs = protectedBy(choices, settings)
  if (globs.length === 0) return undefined
  const { protectRules } = await import('../goals/protected-globs.ts')
  return protectRules(globs, cwd)
}

/**
 * The goals of a session as run options, with a factory for goals that are set later. Choices replace the commands of
 * the settings.
 * @throws ConfigurationError, before anything is spent, for a missing command and for globs without matches.
 */
export async function goalOptions(
  choices: GoalChoices,
  settings: GoalSettings,
  { workspace, tools }: Pick<Toolbox, 'workspace' | 'tools'>,
): Promise<GoalOptions> {
  const protect = protectedBy(choices, settings)
  const goals = [...new Set(choices.until ?? settings.until ?? [])]
  const commands = goals.filter((goal) => typeof goal === 'string')
  const own = new Set(goals.filter((goal) => typeof goal !== 'string').map(({ name }) => name))
  const asksModel = (name: string): boolean => tools.some((tool) => tool.name === name && isAsking(tool))
  let loaded: Promise<SessionGoals> | undefined
  // Loaded when the first goal is checked.
  const load = (): Promise<SessionGoals> =>
    (loaded ??= import('../goals/session-goals.ts').then(({ sessionGoals }) =>
      sessionGoals({ workspace, protect, own, asksModel }),
    ))
  if (commands.length + protect.length > 0) {
    const { checkGoals } = await import('../goals/session-goals.ts')
    await checkGoals(commands, { workspace, protect })
  }
  const goalNamed = (spec: GoalSpec): Goal => goalOf(spec, timesOf(choices, settings), load)
  const until = goals.map((goal) => (typeof goal === 'string' ? goalNamed({ name: goal }) : goal))
  const tries = choices.untilTries ?? settings.untilTries
  const { goal, skipIfMet, stopWhenMet } = choices
  return {
    until: goal === undefined ? until : [...until, goalNamed({ name: goal, judged: true })],
    ...(tries !== undefined && { maxGoalTries: tries }),
    ...(skipIfMet !== undefined && { skipIfMet }),
    ...(stopWhenMet !== undefined && { stopWhenMet }),
    goalNamed,
    goalFiles: { begin: async (...round) => (await load()).files.begin(...round) },
  }
}

function isAsking(tool: Toolbox['tools'][number]): boolean {
  return 'asksModel' in tool && tool.asksModel === true
}

/** A goal of an agent, which is checked and retried like those of the session. */
export function goalOfAgent(
  command: string,
  { choices, settings }: { readonly choices: GoalChoices; readonly settings: GoalSettings },
  workspace: Workspace,
): Goal {
  const load = async (): Promise<SessionGoals> => {
    const { sessionGoals } = await import('../goals/session-goals.ts')
    return sessionGoals({ workspace, protect: protectedBy(choices, settings), own: new Set() })
  }
  return goalOf({ name: command }, timesOf(choices, settings), load)
}

function timesOf(
  { untilTimeout, untilStable }: GoalChoices,
  settings: GoalSettings,
): Pick<Goal, 'timeoutMs' | 'stable'> {
  const timeoutMs =
    untilTimeout ?? (settings.untilTimeout === undefined ? undefined : durationMs(settings.untilTimeout))
  return { ...(timeoutMs !== undefined && { timeoutMs }), ...(untilStable !== undefined && { stable: untilStable }) }
}

function goalOf(spec: GoalSpec, times: Pick<Goal, 'timeoutMs' | 'stable'>, load: () => Promise<SessionGoals>): Goal {
  const { name, judged } = spec
  return {
    name,
    ...(judged === true && { judged }),
    ...times,
    async check(context) {
      return (await load()).named(spec).check(context)
    },
  }
}
