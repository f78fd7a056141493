import { readCallbackHooks, type ReadHooks } from '@halting/agent/hooks'
import type { ElicitationAnswer, ElicitationRequest } from '@halting/agent/mcp'
import type { JsonObject } from '@halting/core'
import { isJsonObject, jsonOf } from '@halting/core/adapters'
import { readElicitationAnswer } from '../frontends/elicitation-answer.ts'
import { type Control, ControlError } from './control.ts'

/** Hooks that the host runs when called back, as it named them in `initialize` (spec R-HOST-11). */
export function hooksOfHost(hooks: JsonObject, control: Pick<Control, 'request'>): ReadHooks {
  return readCallbackHooks(hooks, async (id, input, signal) => {
    const { tool_use_id: callId, hook_event_name: event } = input
    const about = typeof callId === 'string' ? { tool_use_id: callId } : {}
    try {
      return await control.request({ subtype: 'hook_callback', callback_id: id, input, ...about }, { signal })
    } catch (thrown) {
      // Hosts disconnect before the end of the session; such hooks have not failed then.
      if (isGone(thrown) && (event === 'SessionEnd' || event === 'Notification')) return {}
      throw thrown
    }
  })
}

function isGone(thrown: unknown): boolean {
  return thrown instanceof ControlError && thrown.code === 'gone'
}

/** Forwards a question of an MCP server to the host (spec R-HOST-13). A host that cannot answer declines. */
export async function elicitByHost(
  control: Pick<Control, 'request' | 'emit'>,
  server: string,
  question: ElicitationRequest,
  signal: AbortSignal,
): Promise<ElicitationAnswer> {
  const { mode = 'form', message, completed, elicitationId: id = '' } = question
  const request = { subtype: 'elicitation', mcp_server_name: server, message, mode, ...fieldsFor(question) }
  try {
    const answer = readElicitationAnswer(await control.request(request, { signal }))
    if (mode === 'form') return answer
    const isFinished = { type: 'system', subtype: 'elicitation_complete', mcp_server_name: server, elicitation_id: id }
    if (completed?.aborted === true) control.emit(isFinished)
    else completed?.addEventListener('abort', () => control.emit(isFinished), { once: true })
    return { action: answer.action }
  } catch (thrown) {
    if (thrown instanceof ControlError) return { action: thrown.code === 'refused' ? 'decline' : 'cancel' }
    throw thrown
  }
}

/** The fields of a form, or the address of a page. */
function fieldsFor({ mode, requestedSchema, url = '', elicitationId = '' }: ElicitationRequest): JsonObject {
  if (mode === 'url') return { url, elicitation_id: elicitationId }
  const schema = jsonOf(requestedSchema ?? null)
  if (!isJsonObject(schema)) return {}
  const properties = isJsonObject(schema['properties']) ? Object.keys(schema['properties']) : []
  return { requested_schema: schema, property_order: properties }
}
