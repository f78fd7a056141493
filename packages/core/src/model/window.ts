/** Thresholds of a context window, in input tokens; Infinity for never. */
export interface WindowThresholds {
  /** Number of tokens at which a person is warned that little is left. */
  readonly warning: number
  /** Number of tokens at which the conversation is compacted before the next request. */
  readonly compaction: number
  /** Number of tokens at which no further request is made. */
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
  /** Used share of the window in percent, rounded; over 100 if more is used than fits. */
  readonly usedPercent: number
  /** The thresholds in tokens. */
  readonly thresholds: WindowThresholds
  /** Tokens left until the next threshold: that of compaction, or else the blocking limit, or else the end of the window. */
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

/** Minimum number of tokens that the window must leave for a reply; otherwise no request is made. */
const blockingMargin = 3_000

/** The usage at which no further request is made to a model with this window. */
export function blockingLimitOf(contextWindow: number): number {
  return contextWindow - blockingMargin
}
