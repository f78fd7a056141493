import { ConfigurationError } from '../values/errors.ts'
import type { Model } from '../model/model.ts'
import { clearedResults } from './clear-results.ts'
import { drainCollapses, nextCollapse } from './collapse.ts'
import { fullCompaction, type CarryOver } from './compact.ts'
import type { ContextManager, ContextView } from './port.ts'
import { compactedInVain, thrashOf } from './thrash.ts'
import { compactionThresholdOf } from './thresholds.ts'
import { blockingLimitOf } from '../model/window.ts'

/** The four layers against a full window, each to be switched off. */
export interface ContextLayersOptions {
  /** Compacts before a request that would be too long. False: only the person and, where they are on, the layers after a 413 do. */
  readonly autoCompact?: boolean
  /** When: in tokens, or in percent of what the window leaves beside a reply, such as `80%`. As the window allows when absent. */
  readonly compactAt?: number | `${number}%`
  /** The threshold that holds whatever the window; 200,000 input tokens when absent. */
  readonly contextThreshold?: number
  /** Old results of tools give way to notes before that; true when absent. */
  readonly clearResults?: boolean
  /** Finished work is summarized beside the turns, and put in its place when room is needed. As `autoCompact` when absent. */
  readonly collapse?: boolean
  /** Compacts after a 413. As `autoCompact` when absent. */
  readonly reactive?: boolean
  /** Asked for summaries in place of the run's own model: a cheaper one. Under a dollar budget it needs a price. */
  readonly compactModel?: Model
  /** What the program carries over a compaction: files that are worked on, a list of things to do. */
  readonly carryOver?: CarryOver
}

// Spec R-CTX-12.
/**
 * The layers against a full context window: old results give way to notes, finished work to its summaries, then all but the
 * newest messages to one summary; after a 413 the same at once; with none of them, a limit before the call. What people said is carried word for word.
 * @throws ConfigurationError for a threshold that is none.
 */
export function contextLayers(options: ContextLayersOptions = {}): ContextManager {
  checkLayers(options)
  const { autoCompact = true, clearResults = true, collapse = autoCompact, reactive = autoCompact } = options
  const { compactModel, carryOver } = options
  const parts = { model: compactModel, carryOver }
  const thresholdOf = (model: Model, window: number): number => compactionThresholdOf(model, window, options)
  const threshold = ({ model, contextWindow }: ContextView): number => thresholdOf(model, contextWindow)
  const isOpenEnded = !autoCompact && !collapse && !reactive
  return Object.freeze<ContextManager>({
    autoCompact,
    ...(compactModel !== undefined && { models: [compactModel] }),
    ...(clearResults && { clear: (view) => clearedResults(view, threshold(view)) }),
    beforeRequest(view) {
      const limit = threshold(view)
      if (!autoCompact || view.estimatedTokens < limit) return undefined
      const thrash = thrashOf(view)
      if (thrash !== undefined) return thrash
      const drained = collapse ? drainCollapses(view, limit * collapsedShare) : undefined
      return drained ?? fullCompaction(view, 'auto', parts)
    },
    ...(collapse && { stage: (view) => nextCollapse(view, threshold(view), compactModel) }),
    drain: (view) => (collapse ? (compactedInVain(view) ?? drainCollapses(view)) : undefined),
    compact(view, trigger) {
      if (trigger === 'manual') return fullCompaction(view, trigger, parts)
      return reactive ? (compactedInVain(view) ?? fullCompaction(view, trigger, parts)) : undefined
    },
    compactionThreshold: (model, window) => (autoCompact ? thresholdOf(model, window) : Infinity),
    blockingLimit: (_model, window) => (isOpenEnded ? blockingLimitOf(window) : Infinity),
  })
}

/** Staged summaries are enough when they bring the conversation below this share of the threshold. */
const collapsedShare = 0.75

function checkLayers({ compactAt, contextThreshold }: ContextLayersOptions): void {
  if (contextThreshold !== undefined && !(contextThreshold > 0))
    throw new ConfigurationError(`contextThreshold must be above 0 tokens, but it is ${contextThreshold}.`)
  if (compactAt === undefined) return
  const isPercent = typeof compactAt === 'string' && /^\d+(\.\d+)?%$/.test(compactAt)
  const amount = isPercent ? Number.parseFloat(compactAt) : compactAt
  if (typeof amount === 'number' && amount > 0 && (!isPercent || amount <= 100)) return
  throw new ConfigurationError(
    `compactAt must be a number of tokens, such as 150000, or a share of the window, such as '80%', but it is ${JSON.stringify(compactAt)}.`,
  )
}
