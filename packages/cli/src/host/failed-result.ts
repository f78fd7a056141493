import { randomUUID } from 'node:crypto'
import { noUsage } from '@halting/core/adapters'
import type { SdkResult } from '@halting/core'

/** The result of a message that no run began with: whoever waits for one is told why there is none. */
export function failedResult(sessionId: string, message: string, costUsd: number): SdkResult {
  return {
    type: 'result',
    subtype: 'error_during_execution',
    duration_ms: 0,
    duration_api_ms: 0,
    is_error: true,
    num_turns: 0,
    stop_reason: null,
    total_cost_usd: costUsd,
    usage: noUsage,
    modelUsage: {},
    permission_denials: [],
    terminal_reason: 'error',
    stop: { reason: 'error', category: 'error', message, context: {}, source: 'host', forced: true },
    errors: [message],
    uuid: randomUUID(),
    session_id: sessionId,
  }
}
