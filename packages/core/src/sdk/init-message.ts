import { uuidOf } from '../values/hash.ts'
import type { RunContext } from '../run/run-context.ts'
import { defaultInit } from './default-init.ts'
import type { SdkInit, SdkInitInfo } from './sdk-messages.ts'

/** The first message of a run: with the model, the mode and the tools that it begins with. */
export function initMessage(
  { model, settings, toolDefinitions }: RunContext,
  init: Partial<SdkInitInfo> | undefined,
  { sessionId, runId }: { readonly sessionId: string; readonly runId: string },
): SdkInit {
  return {
    type: 'system',
    subtype: 'init',
    ...defaultInit,
    ...init,
    ...(settings.permissionMode !== null && { permissionMode: settings.permissionMode }),
    tools: toolDefinitions.map(({ name }) => name),
    model: model.id,
    uuid: uuidOf(`${sessionId}/${runId}/init`),
    session_id: sessionId,
  }
}
