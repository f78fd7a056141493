import { digestOf } from '@halting/core/adapters'
import type { RecordedCall, RecordedSteps } from '../account/recorded-steps.ts'
import { callLabel } from './call-label.ts'
import type { TurnCall } from './types.ts'

/** What the replies of the main loop called, by request. Of several attempts at a request the last one has its calls. */
export function callsByRequest({ requests }: RecordedSteps): ReadonlyMap<number, readonly TurnCall[]> {
  const calls = new Map<number, readonly TurnCall[]>()
  for (const { scope, phase, name, request, calls: asked } of requests) {
    // The last answer has a count of its own, and calls nothing.
    if (scope === '' && phase === 'model' && !name.startsWith('wrap_up')) calls.set(request, asked.map(turnCallOf))
  }
  return calls
}

function turnCallOf({ name, input, status }: RecordedCall): TurnCall {
  const inputDigest = digestOf(JSON.stringify(input) ?? '')
  return { tool: name, label: callLabel(name, input), inputDigest, status }
}
