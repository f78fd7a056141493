import { plainTextOf } from './content.ts'
import type { RunResult } from './endings/terminal.ts'
import { fieldsOf } from './given.ts'
import { jsonObjectOf, type JsonObject } from './json.ts'
import { openCallsOf } from './open-calls.ts'
import type { StepKey } from './steps/steps.ts'
import type { Transcript } from './transcript.ts'

/** A tool call that runs only once a person has approved it. JSON. */
export interface PendingApproval {
  /** The id of the call: what `approvals` and `QueryEngine.approve` are keyed by. */
  readonly callId: string
  /** The name of the tool. */
  readonly tool: string
  /** The input of the call. */
  readonly input: JsonObject
  /** Why a person is asked, in one sentence. */
  readonly reason: string
  /** Of a run that waits for the answer (`onAsk: 'wait'`, `canUseTool`): the key for `RunStream.answer`. Absent where the run has ended. */
  readonly key?: StepKey
}

/** The calls that a run left waiting when it ended as `needs_approval`, as far as they have no result yet; empty for any other ending. */
export function pendingOf(terminal: RunResult | undefined, transcript: Transcript): readonly PendingApproval[] {
  if (terminal?.reason !== 'needs_approval') return []
  const { pending } = terminal.signal.context
  const waiting = Array.isArray(pending) ? pending.map((call: unknown) => fieldsOf(call) ?? {}) : []
  const open = openCallsOf(transcript)
  return waiting.flatMap(({ id, message }) => {
    const call = open.find((one) => one.id === id)
    if (call === undefined) return []
    return [{ callId: call.id, tool: call.name, input: jsonObjectOf(call.input), reason: plainTextOf(message) }]
  })
}
