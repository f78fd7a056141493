import { usdOf } from '../model/prices.ts'
import type { Emit } from '../state/events.ts'
import type { Run } from '../run/run.ts'
import { currentModel } from './current-model.ts'
import { windowOf } from './window.ts'

// Spec R-FIG-1.
/**
 * Tells what stands on the ledger of the whole run, how full the window is, and how much time is left.
 * From inside an effect alone: what is reserved at a moment is on no record, and agents side by side reserve in no order that a replay knows.
 */
export function tellFigures(run: Run, emit: Emit, contextTokens: number): void {
  const { wholeLedger, wholeDeadline } = run.ports
  const { settled, unknown, reserved, available } = wholeLedger.figures()
  const { usedMs, limitMs } = wholeDeadline
  const { toolCalls = 0 } = run.identity.depth === 0 ? run.spent : {}
  emit({
    type: 'figures',
    settledUsd: usdOf(settled.nanos),
    unknownUsd: usdOf(unknown.nanos),
    reservedUsd: usdOf(reserved.nanos),
    leftUsd: leftOf(usdOf(available.nanos)),
    settledTokens: settled.tokens,
    reservedTokens: reserved.tokens,
    leftTokens: leftOf(available.tokens),
    waitingRequests: wholeLedger.queue.waitingOf(wholeLedger),
    contextTokens,
    contextWindow: leftOf(windowOf(run, currentModel(run))),
    usedMs,
    leftMs: leftOf(limitMs - usedMs),
    ...(toolCalls > 0 && { toolCalls }),
  })
}

/** As JSON: null where there is no limit. One that was lowered below what is spent leaves nothing. */
function leftOf(amount: number): number | null {
  return amount === Infinity ? null : Math.max(0, amount)
}
