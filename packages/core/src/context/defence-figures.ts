import type { Model } from '../model/model.ts'
import type { ContextManager } from './port.ts'
import { windowFigures, type WindowFigures } from '../model/window.ts'

/** Tokens before the next threshold at which a person is told that little is left. */
const warningMargin = 20_000

/** How full a window is, with the thresholds of a context defence. */
export function defenceFigures(
  defence: ContextManager,
  model: Model,
  { window, used }: { readonly window: number; readonly used: number },
): WindowFigures {
  const compaction = defence.compactionThreshold?.(model, window) ?? Infinity
  const blocking = defence.autoCompact ? Infinity : defence.blockingLimit(model, window)
  const next = Math.min(compaction, blocking, window)
  const warning = Math.max(0, next - Math.min(warningMargin, window * 0.1))
  return windowFigures(used, window, { warning, compaction, blocking })
}
