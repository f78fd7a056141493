import { plainTextOf } from '../model/content.ts'
import type { RunResult } from '../endings/terminal.ts'
import { fieldsOf } from '../values/given.ts'
import { isJsonObject, jsonObjectOf, type JsonObject } from '../values/json.ts'
import type { ToolUseBlock } from '../model/messages.ts'
import { openCallsOf } from '../conversation/open-calls.ts'
import type { StepRecord } from '../steps/log.ts'
import type { StepKey } from '../steps/steps.ts'
import type { Transcript } from '../conversation/transcript.ts'

/** A tool call that runs only once a person has approved it. JSON. */
export interface PendingApproval {
  /** The id of the call: what `approvals` and `QueryEngine.approve` are keyed by. */
  readonly callId: string
  /** The name of the tool. */
  readonly tool: string
  /** What the tool would be called with: what hooks have changed is changed. */
  readonly input: JsonObject
  /** Why a person is asked, in one sentence. */
  readonly reason: string
  /** Of a run that waits for the answer (`onAsk: 'wait'`, `canUseTool`): the key for `RunStream.answer`. Absent where the run has ended. */
  readonly key?: StepKey
}

/** A call as a person is shown it. */
export function pendingCall({ id, name, input }: ToolUseBlock, reason: string, key?: StepKey): PendingApproval {
  return { callId: id, tool: name, input: jsonObjectOf(input), reason, ...(key !== undefined && { key }) }
}

/** The calls that a run left waiting when it ended as `needs_approval`, as far as they have no result yet; empty for any other ending. */
export function pendingOf(terminal: RunResult | undefined, transcript: Transcript): readonly PendingApproval[] {
  if (terminal?.reason !== 'needs_approval') return []
  const { pending } = terminal.signal.context
  const waiting = Array.isArray(pending) ? pending.map((call: unknown) => fieldsOf(call) ?? {}) : []
  const open = openCallsOf(transcript)
  return waiting.flatMap(({ id, name, message, input }) => {
    const call = open.find((one) => one.id === id)
    if (call === undefined) return []
    const asked = { name: typeof name === 'string' ? name : call.name, input: fieldsOf(input) ?? call.input }
    return [pendingCall({ ...call, ...asked }, plainTextOf(message))]
  })
}

/** `run1/approval:2:0:call_1`, also below a subagent: before it the scope, behind it the place of the call and its id. */
const approvalKey = /^(.*\/)approval:(\d+:\d+:(.*))$/s

/** The calls that an open run waits with, by its records: the waits that have begun and have no answer. */
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
    const made = call ?? { type: 'tool_use', id, name: '', input: {} }
    const changed = changedInput(results, `${scope}hook:beforeToolUse:${place}:`)
    return pendingCall(changed === undefined ? made : { ...made, input: changed }, reasonIn(asked), key)
  })
}

/** The newest message of the scope that makes the call. */
function callOnRecord(results: ReadonlyMap<StepKey, unknown>, scope: string, id: string): ToolUseBlock | undefined {
  let found: ToolUseBlock | undefined
  for (const [key, value] of results) {
    if (!key.startsWith(`${scope}model:`) || !isJsonObject(value) || !isJsonObject(value['message'])) continue
    const { content } = value['message']
    if (!Array.isArray(content)) continue
    const call = content.find((block) => isJsonObject(block) && block['type'] === 'tool_use' && block['id'] === id)
    // A reply on record is a message of the API.
    if (call !== undefined) found = call as unknown as ToolUseBlock
  }
  return found
}

/** The input that the last of the hooks of a call put in the place of the model's; undefined where none did. */
function changedInput(results: ReadonlyMap<StepKey, unknown>, hooks: string): JsonObject | undefined {
  let changed: JsonObject | undefined
  for (const [key, value] of results) {
    if (!key.startsWith(hooks) || !isJsonObject(value)) continue
    // Of a hook that asked a model the outcome is in what that came to.
    const outcome = isJsonObject(value['value']) ? value['value'] : value
    if (isJsonObject(outcome['input'])) changed = jsonObjectOf(outcome['input']['value'])
  }
  return changed
}

/** Of rules that asked a model the decision is in what that came to. */
function reasonIn(value: unknown): string {
  if (!isJsonObject(value)) return ''
  const decision = isJsonObject(value['value']) ? value['value'] : value
  return plainTextOf(decision['message'])
}
