import { plainTextOf } from '../model/content.ts'
import type { RunResult } from '../endings/run-result.ts'
import { fieldsOf } from '../values/validators.ts'
import { isJsonObject, jsonObjectOf, type JsonObject } from '../values/json.ts'
import type { ToolUseBlock } from '../model/messages.ts'
import { openCallsOf } from '../conversation/open-calls.ts'
import type { StepRecord } from '../steps/step-record.ts'
import type { StepKey } from '../steps/step-engine.ts'
import type { Transcript } from '../conversation/transcript.ts'

/** A tool call that runs only once a person has approved it. JSON. */
export interface PendingApproval {
  /** The id of the call. `approvals` and `QueryEngine.approve` use it as the key. */
  readonly callId: string
  /** The name of the tool. */
  readonly tool: string
  /** The input of the call, with the changes of hooks. */
  readonly input: JsonObject
  /** Why a person is asked, in one sentence. */
  readonly reason: string
  /** The key for `RunStream.answer`, for a run that waits for the answer (`onAsk: 'wait'`, `canUseTool`). Absent once the run has ended. */
  readonly key?: StepKey
}

/** A call as it is displayed to a person. */
export function pendingCall({ id, name, input }: ToolUseBlock, reason: string, key?: StepKey): PendingApproval {
  return { callId: id, tool: name, input: jsonObjectOf(input), reason, ...(key !== undefined && { key }) }
}

/** The calls that were pending when a run ended as `needs_approval` and still have no result; empty for any other ending. */
export function pendingCallsOf(terminal: RunResult | undefined, transcript: Transcript): readonly PendingApproval[] {
  if (terminal?.reason !== 'needs_approval') return []
  const { pending } = terminal.signal.context
  const waiting = Array.isArray(pending) ? pending.map((call: unknown) => fieldsOf(call) ?? {}) : []
  const open = openCallsOf(transcript)
  return waiting.flatMap(({ id, name, message, input }) => {
    const call = open.find((openCall) => openCall.id === id)
    if (call === undefined) return []
    const asked = { name: typeof name === 'string' ? name : call.name, input: fieldsOf(input) ?? call.input }
    return [pendingCall({ ...call, ...asked }, plainTextOf(message))]
  })
}

/**
 * For example `run1/approval:2:0:call_1`. A subagent's key has the same form, with its scope as the prefix. The suffix
 * is the position of the call and its id.
 */
const approvalKey = /^(.*\/)approval:(\d+:\d+:(.*))$/s

/** The calls that an open run waits for, according to its records: waits that have begun and have no answer. */
export function pendingOnRecord(records: readonly StepRecord[]): readonly PendingApproval[] {
  const waits = new Map<StepKey, RegExpExecArray>()
  const results = new Map<StepKey, unknown>()
  for (const record of records) {
    if (record.type === 'result') {
      results.set(record.key, record.value)
      waits.delete(record.key)
    }
    const found = record.type === 'intent' ? approvalKey.exec(record.key) : null
    if (found !== null) waits.set(found[0], found)
  }
  return [...waits].map(([key, [, scope = '', place = '', id = '']]) => {
    const call = callOnRecord(results, scope, id)
    const asked = results.get(`${scope}permission:${place}/asked`) ?? results.get(`${scope}permission:${place}`)
    const originalCall = call ?? { type: 'tool_use', id, name: '', input: {} }
    const changed = changedInput(results, `${scope}hook:beforeToolUse:${place}:`)
    return pendingCall(changed === undefined ? originalCall : { ...originalCall, input: changed }, reasonIn(asked), key)
  })
}

/** The call with this id in the newest reply of the scope that contains it. */
function callOnRecord(results: ReadonlyMap<StepKey, unknown>, scope: string, id: string): ToolUseBlock | undefined {
  let found: ToolUseBlock | undefined
  for (const [key, value] of results) {
    if (!key.startsWith(`${scope}model:`) || !isJsonObject(value) || !isJsonObject(value['message'])) continue
    const { content } = value['message']
    if (!Array.isArray(content)) continue
    const call = content.find((block) => isJsonObject(block) && block['type'] === 'tool_use' && block['id'] === id)
    // A recorded reply is a message of the API, so this block has the type of a tool call.
    if (call !== undefined) found = call as unknown as ToolUseBlock
  }
  return found
}

/** The input set by the last hook that changed the call; undefined if none did. */
function changedInput(results: ReadonlyMap<StepKey, unknown>, hooks: string): JsonObject | undefined {
  let changed: JsonObject | undefined
  for (const [key, value] of results) {
    if (!key.startsWith(hooks) || !isJsonObject(value)) continue
    // For a hook that asked a model, the outcome is nested in the record.
    const outcome = isJsonObject(value['value']) ? value['value'] : value
    if (isJsonObject(outcome['input'])) changed = jsonObjectOf(outcome['input']['value'])
  }
  return changed
}

/** For rules that asked a model, the decision is nested in the record. */
function reasonIn(value: unknown): string {
  if (!isJsonObject(value)) return ''
  const decision = isJsonObject(value['value']) ? value['value'] : value
  return plainTextOf(decision['message'])
}
