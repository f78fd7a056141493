import { randomUUID } from 'node:crypto'
import { noUsage } from '@halting/core/adapters'
import type { SdkResult } from '@halting/core'

interface ResultOptions {
  readonly sessionId: string
  readonly costUsd: number
  /** The usage of the session; if absent, no usage. */
  readonly modelUsage?: SdkResult['modelUsage']
  /** Duration in milliseconds; 0 if absent. */
  readonly ms?: number
}

/** The result line of a message that started no run: an error, or an answer of the program itself. */
export function resultWithoutRun({
  sessionId,
  costUsd,
  modelUsage = {},
  ms = 0,
  ...outcome
}: ResultOptions & ({ readonly error: string } | { readonly answer: string })): SdkResult {
  const common = {
    type: 'result',
    duration_ms: Math.round(ms),
    duration_api_ms: 0,
    num_turns: 0,
    stop_reason: null,
    total_cost_usd: costUsd,
    usage: noUsage,
    modelUsage,
    permission_denials: [],
    uuid: randomUUID(),
    session_id: sessionId,
  } as const
  if ('error' in outcome) {
    const { error } = outcome
    return {
      ...common,
      subtype: 'error_during_execution',
      is_error: true,
      terminal_reason: 'error',
      stop: { reason: 'error', category: 'error', message: error, context: {}, source: 'host', forced: true },
      errors: [error],
    }
  }
  const message = 'Answered by the program, without a model'
  return {
    ...common,
    subtype: 'success',
    is_error: false,
    terminal_reason: 'completed',
    stop: { reason: 'completed', category: 'completed', message, context: {}, source: 'host', forced: false },
    result: outcome.answer,
  }
}
