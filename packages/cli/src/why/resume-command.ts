import { endings, type GoalSpec, type RunResult } from '@halting/core'
import { maxGoalTriesAllowed, sharedBudgetOf } from '@halting/core/adapters'
import { adviceFor } from '../headless/ending.ts'
import { type FlagLimit, flagLimitOf, flagOf, usdFlag, waitHours } from '../headless/limit-advice.ts'
import { shellQuoted } from '../io/shell-quote.ts'

/** The session, and the folder of the user. */
export interface ResumeContext {
  readonly sessionId: string
  /** The folder in which the session worked. */
  readonly sessionCwd: string
  readonly cwd: string
  /** The address of the cluster that has the session. */
  readonly cluster?: string
  /** The goals of the run, which a new prompt needs as flags. */
  readonly goals?: readonly GoalSpec[]
  /** How long the run may wait for services, in milliseconds; 0 or absent disables waiting. */
  readonly waitForLimitsMs?: number
  /** Whether the run has not ended and waits for a service. */
  readonly isWaiting?: boolean
  /** The limit at which a run that has not ended is paused. */
  readonly pausedAt?: { readonly limit: FlagLimit; readonly of: number }
}

/** How to resume a session: a sentence, and a command if there is something to resume. */
export interface ResumeHint {
  readonly says: string
  readonly command?: string
}

/** Returns how to resume a run. `terminal` is undefined if it has not ended; `now` is in milliseconds since 1970. */
export function resumeCommand(
  terminal: RunResult | undefined,
  context: ResumeContext,
  now: number = Date.now(),
): ResumeHint {
  const resumed = ['-p', '--resume', context.sessionId]
  const { pausedAt } = context
  if (terminal === undefined && pausedAt !== undefined)
    return {
      says: 'Continue with a higher limit:',
      command: commandLine([...resumed, flagOf(pausedAt.limit), raisedTo(pausedAt.limit, pausedAt.of)], context),
    }
  if (terminal === undefined)
    return {
      says: context.isWaiting === true ? 'Continue the wait with:' : 'Continue with:',
      command: commandLine([...resumed, ...waitFlags(context.waitForLimitsMs)], context),
    }
  const retryAt = retryAtMs(terminal)
  if (retryAt !== undefined && retryAt <= now)
    return {
      says: 'That time has passed. Continue with:',
      command: commandLine([...resumed, ...waitFlags(context.waitForLimitsMs)], context),
    }
  const hours = retryAt === undefined ? undefined : waitHours(retryAt - now, context.waitForLimitsMs)
  if (hours !== undefined)
    return {
      says: 'Wait until then and continue with:',
      command: commandLine([...resumed, waitFlag, `${hours}h`], context),
    }
  const advice = adviceFor(terminal, {}, recordedErrorKind(terminal))
  const says = flagLimitOf(terminal) === 'maxGoalTries' ? `${advice} halting undo reverts what it changed.` : advice
  const args = resumeArguments(terminal, context)
  return args === undefined ? { says } : { says, command: commandLine(args, context) }
}

const hourMs = 3_600_000
const waitFlag = '--wait-for-limits'

/** When the service that ended the run accepts requests again, in milliseconds since 1970; undefined if unknown. */
function retryAtMs({ retryAt }: RunResult): number | undefined {
  const ms = retryAt === undefined ? Number.NaN : Date.parse(retryAt)
  return Number.isNaN(ms) ? undefined : ms
}

function waitFlags(ms = 0): readonly string[] {
  if (!(ms > 0)) return []
  const hours = ms / hourMs
  return [waitFlag, Number.isInteger(hours) ? `${hours}h` : `${Math.ceil(ms / 1_000)}s`]
}

/** The pending calls have been answered. Later calls are deferred as well. */
export function resumeAfterAnswers(context: ResumeContext): ResumeHint {
  return {
    says: 'Its pending calls have been answered. Continue with:',
    command: commandLine(['-p', '--resume', context.sessionId, '--on-ask', 'defer'], context),
  }
}

function commandLine(args: readonly string[], { sessionCwd, cwd, cluster }: ResumeContext): string {
  const command = `halting ${shellQuoted([...args, ...(cluster === undefined ? [] : ['--cluster', cluster])])}`
  return sessionCwd === cwd ? command : `cd ${shellQuoted([sessionCwd])} && ${command}`
}

/** The goals as flags; empty if they are already met. */
function goalFlags({ goal }: RunResult, goals: readonly GoalSpec[]): readonly string[] {
  if (goal === undefined || goal.met === true) return []
  return goals.flatMap(({ name, judged }) => [judged === true ? '--goal' : '--until', name])
}

/** With a raised limit, a run continues without a prompt. After an interruption, the user has something to say. */
function resumeArguments(terminal: RunResult, { sessionId, goals = [] }: ResumeContext): readonly string[] | undefined {
  const { resume } = endings[terminal.reason]
  if (resume === null) return undefined
  const resumeWith = (...flags: readonly string[]): readonly string[] => ['-p', '--resume', sessionId, ...flags]
  // A resumed run has its goals on record; a new prompt needs them as flags.
  const resumeWithPrompt = (text: string): readonly string[] => resumeWith(...goalFlags(terminal, goals), text)
  const { cause } = terminal.signal.context
  switch (resume.kind) {
    case 'raise-limit': {
      if (cause === 'stalled') return resumeWithPrompt('Try a different approach.')
      // The model asked a question, or a guard accepted its answer, so more tries would change nothing.
      if (cause === 'asks' || cause === 'finish_reason') return undefined
      const limit = flagLimitOf(terminal)
      if (sharedBudgetOf(terminal.signal)?.kind === 'standing') return resumeWith()
      return limit === undefined ? undefined : resumeWith(flagOf(limit), raisedLimit(limit, terminal))
    }
    case 'compact':
      return resumeWith('--autocompact', 'auto')
    case 'retry':
      return resumeWith()
    case 'prompt':
      return resumeWithPrompt(resume.text)
    case 'approve': {
      const { pending } = terminal.signal.context
      const [first] = Array.isArray(pending) ? (pending as readonly unknown[]) : []
      const callId = typeof first === 'object' && first !== null && 'id' in first ? first.id : undefined
      return typeof callId === 'string' ? ['approve', sessionId, callId] : undefined
    }
    // `send-back` raises a limit of tries elsewhere; the other actions do not resume the run.
    case 'send-back':
    case 'another-model':
    case 'undo':
    case 'last-answer':
    case 'explain':
      return undefined
  }
}

/** Twice the limit, or what the next request needs if that is more, as the value of the flag. */
function raisedLimit(limit: FlagLimit, { signal }: RunResult): string {
  const { limit: reached, limitNeededUsd, limitNeeded } = signal.context
  return raisedTo(limit, asNumber(reached), Math.max(asNumber(limitNeededUsd), asNumber(limitNeeded)))
}

function raisedTo(limit: FlagLimit, reached: number, needed = 0): string {
  const twice = 2 * reached
  switch (limit) {
    case 'maxTurns':
    case 'maxToolCalls':
      return String(twice)
    case 'maxBudgetUsd':
    case 'maxRunUsd':
      return usdFlag(Math.max(twice, needed))
    case 'maxTotalTokens':
      return String(Math.max(twice, needed))
    case 'maxDurationMs':
      return `${Math.ceil(twice / 1_000)}s`
    case 'maxGoalTries':
      return String(Math.min(maxGoalTriesAllowed, twice))
  }
}

function asNumber(value: unknown): number {
  return typeof value === 'number' ? value : 0
}

/** The recorded kind of the model error. */
function recordedErrorKind({ error, signal }: RunResult): string | undefined {
  const details = error?.details
  const kind =
    typeof details === 'object' && details !== null && 'kind' in details ? details['kind'] : signal.context['kind']
  return typeof kind === 'string' ? kind : undefined
}
