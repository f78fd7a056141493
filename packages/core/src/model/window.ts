/** Thresholds of a context window, in input tokens; Infinity for never. */
export interface WindowThresholds {
  /** From here on a person is warned that little is left. */
  readonly warning: number
  /** From here on the conversation is compacted before the next request. */
  readonly compaction: number
  /** From here on no request is made. */
  readonly blocking: number
}

/** How full a window is, for displays and decisions. */
export interface WindowFigures {
  /** Tokens used. */
  readonly usedTokens: number
  /** Infinity for a model with an unlimited window. */
  readonly windowTokens: number
  /** Tokens left in the window. */
  readonly leftTokens: number
  /** Used share of the window, rounded; over 100 if more is used than fits. */
  readonly usedPercent: number
  /** The thresholds in tokens. */
  readonly thresholds: WindowThresholds
  /** Tokens left until the next event: the compaction, otherwise the blocking limit, otherwise the end of the window. */
  readonly leftUntilNext: number
  /** Whether the warning threshold is passed. */
  readonly isAboveWarning: boolean
  /** Whether the compaction threshold is passed. */
  readonly isAboveCompaction: boolean
  /** Whether the blocking threshold is passed. */
  readonly isAtBlockingLimit: boolean
}

/** Which thresholds are passed at this usage. Pure. */
export function windowFigures(usedTokens: number, windowTokens: number, thresholds: WindowThresholds): WindowFigures {
  const next = Math.min(thresholds.compaction, thresholds.blocking, windowTokens)
  return {
    usedTokens,
    windowTokens,
    leftTokens: Math.max(0, windowTokens - usedTokens),
    usedPercent: Math.round((usedTokens / windowTokens) * 100),
    thresholds,
    leftUntilNext: Math.max(0, next - usedTokens),
    isAboveWarning: usedTokens >= thresholds.warning,
    isAboveCompaction: usedTokens >= thresholds.compaction,
    isAtBlockingLimit: usedTokens >= thresholds.blocking,
  }
}

/** Tokens of the window that must be left for a reply; with fewer no request is made. */
const blockingMargin = 3_000

/** The usage from which on no request is made to a model with this window. */
export function blockingLimitOf(contextWindow: number): number {
  return contextWindow - blockingMargin
}
