import { usdOf } from '../model/prices.ts'
import type { Emit } from '../state/events.ts'
import type { Run } from '../run/run.ts'
import { currentModel } from './current-model.ts'
import { windowOf } from './window.ts'

// Spec R-FIG-1.
/**
 * Emits the state of the ledger of the whole run, how full the window is, and the remaining time. Only call it from
 * within a side effect: momentary reservations are not recorded, and parallel agents reserve in an order that a replay
 * does not know.
 */
export function emitFigures(run: Run, emit: Emit, contextTokens: number): void {
  const { rootLedger, rootDeadline } = run.ports
  const { settled, unknown, reserved, available } = rootLedger.figures()
  const { usedMs, limitMs } = rootDeadline
  const { toolCalls = 0 } = run.identity.depth === 0 ? run.spent : {}
  emit({
    type: 'figures',
    settledUsd: usdOf(settled.nanos),
    unknownUsd: usdOf(unknown.nanos),
    reservedUsd: usdOf(reserved.nanos),
    leftUsd: amountLeft(usdOf(available.nanos)),
    settledTokens: settled.tokens,
    reservedTokens: reserved.tokens,
    leftTokens: amountLeft(available.tokens),
    waitingRequests: rootLedger.queue.waitingOf(rootLedger),
    contextTokens,
    contextWindow: amountLeft(windowOf(run, currentModel(run))),
    usedMs,
    leftMs: amountLeft(limitMs - usedMs),
    ...(toolCalls > 0 && { toolCalls }),
  })
}

/** The remaining amount for JSON: null without a limit. Zero if the limit was lowered below the spent amount. */
function amountLeft(amount: number): number | null {
  return amount === Infinity ? null : Math.max(0, amount)
}
