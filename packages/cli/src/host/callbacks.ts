import { readCallbackHooks, type ReadHooks } from '@halting/agent/hooks'
import type { ElicitationAnswer, ElicitationRequest } from '@halting/agent/mcp'
import type { JsonObject } from '@halting/core'
import { isJsonObject, jsonOf } from '@halting/core/adapters'
import { elicited } from '../frontends/elicited.ts'
import { type Control, ControlError } from './control.ts'

/** Hooks that the host calls back, as it named them in `initialize` (spec R-HOST-11). */
export function hooksOfHost(given: JsonObject, control: Pick<Control, 'request'>): ReadHooks {
  return readCallbackHooks(given, async (id, input, signal) => {
    const { tool_use_id: callId, hook_event_name: event } = input
    const about = typeof callId === 'string' ? { tool_use_id: callId } : {}
    try {
      return await control.request({ subtype: 'hook_callback', callback_id: id, input, ...about }, { signal })
    } catch (thrown) {
      // It went before the end of the session, as hosts do: that is no failure.
      if (isGone(thrown) && (event === 'SessionEnd' || event === 'Notification')) return {}
      throw thrown
    }
  })
}

function isGone(thrown: unknown): boolean {
  return thrown instanceof ControlError && thrown.code === 'gone'
}

/** Asks the host what a server wants to know (spec R-HOST-13). A host that cannot answer has declined. */
export async function elicitByHost(
  control: Pick<Control, 'request'>,
  server: string,
  { message, requestedSchema }: ElicitationRequest,
  signal: AbortSignal,
): Promise<ElicitationAnswer> {
  const schema = jsonOf(requestedSchema ?? null)
  const properties = isJsonObject(schema) && isJsonObject(schema['properties']) ? Object.keys(schema['properties']) : []
  const request = {
    subtype: 'elicitation',
    mcp_server_name: server,
    message,
    mode: 'form',
    ...(isJsonObject(schema) && { requested_schema: schema, property_order: properties }),
  }
  try {
    return elicited(await control.request(request, { signal }))
  } catch (thrown) {
    if (thrown instanceof ControlError) return { action: thrown.code === 'refused' ? 'decline' : 'cancel' }
    throw thrown
  }
}
