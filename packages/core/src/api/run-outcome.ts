import { endings } from '../endings/table.ts'
import type { StopCategory } from '../endings/reason.ts'
import type { RunResult } from '../endings/run-result.ts'
import type { GoalResult } from '../verification/goal-record.ts'
import type { ModelMessage, Usage } from '../model/messages.ts'
import type { OutputSchema } from '../tools/output-schema.ts'
import { pendingCallsOf, type PendingApproval } from '../run/pending-approval.ts'
import type { FinishedRun } from '../run/run-context.ts'
import { lastAnswer, lastReplyText } from '../sdk/result-message.ts'
import type { Transcript } from '../conversation/transcript.ts'

/**
 * How a run ended, for the program that started it: the run result, with the answer and the conversation. Only the run
 * result is recorded. `messages` and `transcript` are not enumerable, so that printing an outcome does not print the
 * whole conversation.
 */
export interface RunOutcome<Output = unknown> extends Omit<RunResult, 'goal'> {
  /** The category of the ending: `signal.reason`. */
  readonly category: StopCategory
  /** One sentence with the figures, for people: `signal.message`. */
  readonly message: string
  /** The answer of a completed run: the parsed output, or its text if there is no schema. Undefined if there is no such answer. */
  readonly output: Output | undefined
  /** The last answer as text, whatever the ending; '' without one. */
  readonly text: string
  /** Tokens of the run's own requests: `summary.usage`. */
  readonly usage: Usage
  /** Turns of the run: `summary.turns`. */
  readonly turns: number
  /** The state of the goals of `until`; null for a run without goals. */
  readonly goal: GoalResult | null
  /** Tool calls that wait for a person; empty unless the run ended as `needs_approval`. */
  readonly pending: readonly PendingApproval[]
  /** The conversation as the next request would contain it. Pass it to a later run as `messages`. JSON. */
  readonly messages: readonly ModelMessage[]
  /** The whole conversation, including messages that were compacted. */
  readonly transcript: Transcript
}

const starts = new WeakMap<object, number>()

/** The index in its transcript at which the run of an outcome began; 0 for a copy, for which it is unknown. */
export function startOfOutcome(outcome: object): number {
  return starts.get(outcome) ?? 0
}

/** The outcome of a run that ended. Never throws. */
export function outcomeOf<Output>(
  { terminal, state }: FinishedRun,
  output: OutputSchema<Output> | undefined,
): RunOutcome<Output> {
  const { signal, summary, goal = null } = terminal
  const text = lastAnswer(state)
  const { transcript } = state
  const outcome = {
    ...terminal,
    category: signal.reason,
    message: signal.message,
    output: endings[terminal.reason].subtype === 'success' ? outputIn(lastReplyText(state), text, output) : undefined,
    text,
    usage: summary.usage,
    turns: summary.turns,
    goal,
    pending: pendingCallsOf(terminal, transcript),
  }
  starts.set(outcome, state.startLength)
  let messages: readonly ModelMessage[] | undefined
  return Object.defineProperties(outcome, {
    messages: { get: () => (messages ??= [...transcript.messages()]) },
    transcript: { value: transcript.copyOnAppend() },
    // Both properties were just defined.
  }) as RunOutcome<Output>
}

/** The loop has already validated the reply. If the check fails now, the output is undefined. */
function outputIn<Output>(reply: string, text: string, output: OutputSchema<Output> | undefined): Output | undefined {
  // Without a schema `Output` is string.
  if (output === undefined) return text === '' ? undefined : (text as Output)
  try {
    const checked = output.check(reply)
    return checked.fits ? checked.value : undefined
  } catch {
    return undefined
  }
}
