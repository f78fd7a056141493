import { spendsTurn, turnsBegun } from '../allowance.ts'
import { limitsInForce } from '../account/limits.ts'
import { callIdOf, recordedSteps, type RecordedCall, type RecordedStep } from '../account/recorded-steps.ts'
import { turnHash, waitMs } from '../guards/recent-turns.ts'
import { isJsonObject } from '../json.ts'
import { isToolResult, isToolUse, type ToolResultBlock, type ToolUseBlock } from '../messages.ts'
import type { RunLimits, RunProgress } from '../state.ts'
import { beginningOf } from '../steps/check-records.ts'
import { lastMomentOf } from '../steps/fold.ts'
import type { StepRecord } from '../steps/log.ts'
import type { TerminalReason } from '../stop/terminal.ts'
import type { TranscriptEntry } from '../transcript.ts'

/** A call of a run that is over. */
export interface PastCall {
  readonly tool: string
  readonly input: unknown
  /** Active milliseconds of the run when it had its result. */
  readonly endMs: number
}

/** One lap of a run that is over: a request, and the calls that its reply asked for. */
export interface PastTurn {
  /** It was paid for by `maxTurns`; recoveries and continuations are not. */
  readonly countsAsTurn: boolean
  /** The figures count it, as `num_turns` does: it is no further attempt of a turn, and its model was asked. */
  readonly isTold: boolean
  /** What was paid to models in it, subagents and compactions too, and when. */
  readonly payments: readonly { readonly endMs: number; readonly tokens: number; readonly nanos: number }[]
  readonly calls: readonly PastCall[]
  readonly endMs: number
  /** Of calls and their results, for the guard against going in circles, and below zero where the turn waited; null where no call had a result. */
  readonly hash: number | null
  /** Something new was said after it: whatever came before is no circle. */
  readonly isFreshAfter: boolean
}

/** What a run did, as far as limits see it: made of our own records, or of what another program left. JSON. */
export interface Trajectory {
  readonly turns: readonly PastTurn[]
  /** How it ended, and the limit that its signal tells; null for one that did not, or of which it is not known. */
  readonly ending: { readonly reason: TerminalReason; readonly limit: number | null } | null
  /** With which limits it ran. */
  readonly limits: RunLimits
  /** What it carried over from a run that it goes on from: its limits count that, too. */
  readonly carried: { readonly turns: number; readonly tokens: number; readonly nanos: number; readonly ms: number }
}

/** The trajectory of one run. @throws ConfigurationError for what is no record of one run. */
export function trajectoryOf(records: readonly StepRecord[]): Trajectory {
  const begin = beginningOf(records)
  const { laps, totalTokens: tokens, nanos, unknownNanos, now, startedAt } = begin.start.spent
  // The first turn of a run is not a lap, so it is in the count already.
  const carried = { turns: turnsBegun(laps) - 1, tokens, nanos: nanos + unknownNanos, ms: now - startedAt }
  const turns: PastTurn[] = []
  let open: StepRecord[] = []
  let countsAsTurn = true
  let told: Pick<RunProgress, 'turns' | 'turnBegins'> = begin.start.spent
  const close = (added: readonly TranscriptEntry[], isFreshAfter: boolean, isTold: boolean): void => {
    turns.push({ countsAsTurn, isTold, ...turnOf(open, added, begin.at), isFreshAfter })
    open = []
  }
  for (const record of records) {
    if (record.type === 'lap' && record.lap.scope === '') {
      const { transition, added, spent } = record.lap
      const isFresh = transition === 'user_input' || transition === 'no_progress_nudge' || added.some(isSteered)
      // The run counted for itself: what it was granted and never asked is no turn, and its last answer at a limit is one.
      close(added, isFresh, spent.turns > told.turns)
      told = spent
      countsAsTurn = spendsTurn(transition)
    } else if (record.type === 'end' && record.scope === '') {
      close(record.added, false, record.spent.turns > told.turns)
      const { reason, signal } = record.terminal
      const { limit } = signal.context
      return {
        turns,
        ending: { reason, limit: typeof limit === 'number' ? limit : null },
        limits: limitsInForce(records),
        carried,
      }
    } else open.push(record)
  }
  // No figures tell of a turn that was cut off; it is one where its model was asked, as in the account of the run.
  if (open.some((record) => 'key' in record)) close([], false, told.turnBegins && open.some(isAsked))
  return { turns, ending: null, limits: limitsInForce(records), carried }
}

/** A request that the limits refused was not asked. */
function isAsked(record: StepRecord): boolean {
  if (record.type !== 'result' && record.type !== 'intent') return false
  if (!/^[^/]*\/model:/.test(record.key)) return false
  return record.type === 'intent'
    ? isJsonObject(record.intent) && record.intent['granted'] === true
    : isJsonObject(record.value) && isJsonObject(record.value['charge'])
}

function isSteered(entry: TranscriptEntry): boolean {
  return entry.kind === 'user' && (entry.origin === 'steer' || entry.origin === 'follow_up')
}

function turnOf(
  records: readonly StepRecord[],
  added: readonly TranscriptEntry[],
  beganAt: number,
): Pick<PastTurn, 'payments' | 'calls' | 'endMs' | 'hash'> {
  const { requests, calls, steps } = recordedSteps(records)
  const endMs = Math.max(0, lastMomentOf(records) - beganAt)
  const hasWaited = calls.some(({ scope, durationMs }) => scope === '' && durationMs >= waitMs)
  const ofCalls = stepsOfCalls(steps)
  const endOfCall = ({ scope, id }: RecordedCall): number => {
    const step = ofCalls.get(`${scope}|${id}`)
    return step === undefined ? endMs : endOf(step, beganAt)
  }
  return {
    payments: requests
      .filter(({ isOpen }) => !isOpen)
      .map((request) => ({ endMs: endOf(request, beganAt), tokens: request.tokens, nanos: request.nanos })),
    calls: calls.map((call) => ({ tool: call.name, input: call.input, endMs: endOfCall(call) })),
    endMs,
    hash: hashOf(added, hasWaited),
  }
}

/** The steps in which tools ended, by the scope and the id of their calls. A call that asked a model ends in another step than it began in, `/asked`. */
function stepsOfCalls(steps: readonly RecordedStep[]): ReadonlyMap<string, RecordedStep> {
  const names = new Set(steps.map(({ scope, name }) => `${scope}|${name}`))
  const found = new Map<string, RecordedStep>()
  for (const step of steps) {
    if (!step.name.startsWith('tool:')) continue
    const begun = step.name.replace(/\/asked$/, '')
    // A model may name a call so.
    const isEnd = begun !== step.name && names.has(`${step.scope}|${begun}`)
    const call = `${step.scope}|${callIdOf(isEnd ? begun : step.name)}`
    if (isEnd || !found.has(call)) found.set(call, step)
  }
  return found
}

function endOf({ at, durationMs }: Pick<RecordedStep, 'at' | 'durationMs'>, beganAt: number): number {
  return at + durationMs - beganAt
}

/** As the guard remembers the turn: calls and results in call order. */
function hashOf(added: readonly TranscriptEntry[], hasWaited: boolean): number | null {
  const calls: ToolUseBlock[] = []
  const results = new Map<string, ToolResultBlock>()
  for (const entry of added) {
    if ((entry.kind !== 'user' && entry.kind !== 'assistant') || typeof entry.message.content === 'string') continue
    for (const block of entry.message.content) {
      if (isToolUse(block)) calls.push(block)
      else if (isToolResult(block)) results.set(block.tool_use_id, block)
    }
  }
  return hashOfTurn(calls, results, hasWaited)
}

/** The same for calls and their results, by the ids of the calls. */
export function hashOfTurn(
  calls: readonly ToolUseBlock[],
  results: ReadonlyMap<string, ToolResultBlock>,
  hasWaited: boolean,
): number | null {
  if (calls.length === 0 || results.size === 0) return null
  const empty = (id: string): ToolResultBlock => ({ type: 'tool_result', tool_use_id: id, content: '' })
  return turnHash(
    calls,
    calls.map(({ id }) => results.get(id) ?? empty(id)),
    hasWaited,
  )
}
