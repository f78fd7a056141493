import { endings } from '../endings/table.ts'
import type { StopCategory } from '../endings/reason.ts'
import type { RunResult } from '../endings/terminal.ts'
import type { GoalResult } from '../verification/goal-record.ts'
import type { ModelMessage, Usage } from '../model/messages.ts'
import type { OutputSchema } from '../tools/output-schema.ts'
import { pendingOf, type PendingApproval } from '../run/pending-approval.ts'
import type { FinishedRun } from '../run/run-context.ts'
import { lastAnswer, lastReplyText } from '../sdk/result-message.ts'
import type { Transcript } from '../conversation/transcript.ts'

/**
 * How a run ended, for the program that started it: the record of the ending, with the answer and the conversation. Only the record is stored.
 * `messages` and `transcript` are not enumerable, so that printing an outcome does not print the whole conversation.
 */
export interface RunOutcome<Output = unknown> extends Omit<RunResult, 'goal'> {
  /** The category of the ending: `signal.reason`. */
  readonly category: StopCategory
  /** One sentence with the figures, for people: `signal.message`. */
  readonly message: string
  /** The answer of a run that completed: what the output schema made of it, or its text where there is no schema. Undefined where there is no such answer. */
  readonly output: Output | undefined
  /** The last answer in words, whatever the ending; '' where there is none. */
  readonly text: string
  /** Tokens of the run's own requests: `summary.usage`. */
  readonly usage: Usage
  /** Turns of the run: `summary.turns`. */
  readonly turns: number
  /** How the goals of `until` stand; null for a run without goals. */
  readonly goal: GoalResult | null
  /** Tool calls that wait for a person; empty unless the run ended as `needs_approval`. */
  readonly pending: readonly PendingApproval[]
  /** The conversation, as the model would be shown it next: `messages` of a later run. JSON. */
  readonly messages: readonly ModelMessage[]
  /** The conversation with all that was said in it, also what was compacted. */
  readonly transcript: Transcript
}

const starts = new WeakMap<object, number>()

/** The place in its transcript at which the run of an outcome began; 0 for a copy, of which that is not known. */
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
    pending: pendingOf(terminal, transcript),
  }
  starts.set(outcome, state.startLength)
  let messages: readonly ModelMessage[] | undefined
  return Object.defineProperties(outcome, {
    messages: { get: () => (messages ??= [...transcript.messages()]) },
    transcript: { value: transcript.copyOnAppend() },
    // Both were just defined.
  }) as RunOutcome<Output>
}

/** The loop has checked the reply before: a check that says something else now leaves no output. */
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
