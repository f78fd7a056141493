import { isJsonObject, isToolResult, isToolUse, textOf } from '@halting/core/adapters'
import { patchedFilesOf, patchToolName } from '@halting/policy/files'
import type { AgentState, HookContext, Json, JsonObject, TranscriptEntry } from '@halting/core'

/** Fields of an event about a tool call. */
export function toolFields(call: { readonly name: string; readonly input: unknown; readonly id: string }): JsonObject {
  // Inputs are JSON: they are converted where they enter.
  const fields = { tool_name: call.name, tool_input: call.input as Json, tool_use_id: call.id }
  return call.name === patchToolName ? { ...fields, patch_files: patchFilesOf(call.input) } : fields
}

/** The files of a patch, so that hooks need not parse patches. */
function patchFilesOf(input: unknown): readonly JsonObject[] {
  return patchedFilesOf(input).map((file) => ({
    file_path: file.path,
    change: file.kind,
    ...(file.kind === 'update' && file.moveTo !== undefined && { move_to: file.moveTo }),
  }))
}

/**
 * Returns a tool's result in the form that hook scripts expect. Only the text of a result is stored; the other fields
 * come from the input, such as the path of a written file.
 */
export function toolResponse(name: string, input: unknown, text: string): Json {
  // Inputs are JSON: they are converted where they enter.
  const json = (input ?? null) as Json
  const fields: JsonObject = isJsonObject(json) ? json : {}
  const path = typeof fields['file_path'] === 'string' ? fields['file_path'] : undefined
  // Bash hooks also receive commands of Wait.
  switch (name === 'Wait' && 'command' in fields ? 'Bash' : name) {
    case 'Bash':
      return { stdout: text, stderr: '', interrupted: false, isImage: false }
    case 'Write':
    case 'Edit':
      return { ...(path !== undefined && { filePath: path }), success: true, text }
    case 'Read':
      return { type: 'text', file: { ...(path !== undefined && { filePath: path }), content: text } }
    default:
      return text
  }
}

/** The calls of the turn that just ended, with their results. */
export function batchOf(state: AgentState): JsonObject {
  const messages = state.messages()
  const reply = messages.findLast(({ role }) => role === 'assistant')
  const calls = reply === undefined || typeof reply.content === 'string' ? [] : reply.content.filter(isToolUse)
  const results = new Map(
    messages
      .flatMap(({ role, content }) =>
        role === 'user' && typeof content !== 'string' ? content.filter(isToolResult) : [],
      )
      .map((result) => [result.tool_use_id, textOf(result.content ?? '')]),
  )
  return {
    tool_calls: calls.map((call) => ({
      ...toolFields(call),
      tool_response: toolResponse(call.name, call.input, results.get(call.id) ?? ''),
    })),
  }
}

/** The prompt of the run: the latest user message. */
export function promptOf(state: AgentState): string {
  const last = state.messages().findLast(({ role }) => role === 'user')
  return textOf(last?.content ?? '')
}

/** Messages that arrived during the run and have no reply yet. */
export function unansweredMessages(
  state: AgentState,
): readonly (UserEntry & { readonly origin: 'steer' | 'follow_up' })[] {
  const { transcript } = state
  const found: (UserEntry & { readonly origin: 'steer' | 'follow_up' })[] = []
  for (let at = -1; -at <= transcript.length; at--) {
    const entry = transcript.at(at)
    // After a compaction or a replacement by a hook, the original messages are no longer available.
    if (entry?.kind === 'assistant' || entry?.kind === 'compact_boundary') break
    if (entry?.kind !== 'user') continue
    const { origin } = entry
    if (origin === 'steer' || origin === 'follow_up') found.push({ ...entry, origin })
  }
  return found.toReversed()
}

type UserEntry = Extract<TranscriptEntry, { readonly kind: 'user' }>

/** The kind and the message of the API failure that ended the run. */
export function failureOf(context: HookContext): { readonly error: string; readonly details: string } {
  const entries = [...context.state().transcript]
  const failed = entries.findLast((entry) => entry.kind === 'assistant' && entry.error !== undefined)
  const error = failed?.kind === 'assistant' ? (failed.error ?? 'unknown') : 'unknown'
  return { error, details: context.error?.message ?? '' }
}

/** The identity of a subagent. */
export function agentFields(agentType: string | null, agentId: string | null): JsonObject {
  return agentType === null ? {} : { agent_id: agentId ?? '', agent_type: agentType }
}
