import { endings, type GoalSpec, type RunResult } from '@halting/core'
import { mostGoalTries, sharedBudgetOf } from '@halting/core/adapters'
import { adviceFor } from '../headless/ending.ts'
import { type FlagLimit, flagLimitOf, flagOf, usdFlag, waitHours } from '../headless/limit-advice.ts'
import { shellQuoted } from '../io/shell-quote.ts'

/** Which session it is, and where the person is. */
export interface ResumeContext {
  readonly sessionId: string
  /** Where the session worked. */
  readonly sessionCwd: string
  readonly cwd: string
  /** The address of the cluster that has it. */
  readonly cluster?: string
  /** The goals of the run: with a new prompt it has them from its flags alone. */
  readonly goals?: readonly GoalSpec[]
  /** How long the run was to wait for services, in milliseconds; 0 or absent for not at all. */
  readonly waitForLimitsMs?: number
  /** It has no end on record, and waits for a service. */
  readonly isWaiting?: boolean
  /** It has no end on record, and pauses at this limit. */
  readonly pausedAt?: { readonly limit: FlagLimit; readonly of: number }
}

/** What has a session go on, in words and as a command; without a command where there is nothing to go on with. */
export interface ResumeHint {
  readonly says: string
  readonly command?: string
}

/** `terminal` is undefined for a run that did not end. `now`: in milliseconds since 1970. */
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

/** When the service that ended the run takes requests again, in milliseconds since 1970; undefined where it did not say. */
function retryAtMs({ retryAt }: RunResult): number | undefined {
  const ms = retryAt === undefined ? Number.NaN : Date.parse(retryAt)
  return Number.isNaN(ms) ? undefined : ms
}

function waitFlags(ms = 0): readonly string[] {
  if (!(ms > 0)) return []
  const hours = ms / hourMs
  return [waitFlag, Number.isInteger(hours) ? `${hours}h` : `${Math.ceil(ms / 1_000)}s`]
}

/** Calls that waited have their answers; those that come later wait as well. */
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

/** The goals as flags; none where they hold already. */
function goalFlags({ goal }: RunResult, goals: readonly GoalSpec[]): readonly string[] {
  if (goal === undefined || goal.met === true) return []
  return goals.flatMap(({ name, judged }) => [judged === true ? '--goal' : '--until', name])
}

/** Raised limits go on without a new prompt; a person who stopped it has something to say. */
function resumeArguments(terminal: RunResult, { sessionId, goals = [] }: ResumeContext): readonly string[] | undefined {
  const { resume } = endings[terminal.reason]
  if (resume === null) return undefined
  const resumeWith = (...flags: readonly string[]): readonly string[] => ['-p', '--resume', sessionId, ...flags]
  // A run that goes on has its goals on record; a prompt begins another.
  const resumeWithPrompt = (text: string): readonly string[] => resumeWith(...goalFlags(terminal, goals), text)
  const { cause } = terminal.signal.context
  switch (resume.kind) {
    case 'raise-limit': {
      if (cause === 'stalled') return resumeWithPrompt('Try a different approach.')
      // It asks something, or a guard took its answer as the end: more tries change nothing.
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
    // A limit of tries is raised where a run ended unmet; the others are no ways for the run to go on.
    case 'send-back':
    case 'another-model':
    case 'undo':
    case 'last-answer':
    case 'explain':
      return undefined
  }
}

/** Twice the limit, or what the next request needs, as it is typed behind the flag. */
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
      return String(Math.min(mostGoalTries, twice))
  }
}

function asNumber(value: unknown): number {
  return typeof value === 'number' ? value : 0
}

/** The kind of the model's failure, as it is on record. */
function recordedErrorKind({ error, signal }: RunResult): string | undefined {
  const details = error?.details
  const kind =
    typeof details === 'object' && details !== null && 'kind' in details ? details['kind'] : signal.context['kind']
  return typeof kind === 'string' ? kind : undefined
}
