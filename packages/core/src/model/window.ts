/** Where something is done about a window that fills up, in tokens of input; Infinity for never. */
export interface WindowThresholds {
  /** From here on a person is told that little is left. */
  readonly warning: number
  /** From here on the conversation is made shorter before the next request. */
  readonly compaction: number
  /** From here on no request is made. */
  readonly blocking: number
}

/** How full a window is: for a meter, and for whoever decides by it. */
export interface WindowFigures {
  /** Tokens that are used. */
  readonly usedTokens: number
  /** Infinity for a model without an end to its window. */
  readonly windowTokens: number
  /** To the end of the window. */
  readonly leftTokens: number
  /** Of the window, rounded; over 100 where more is used than fits. */
  readonly usedPercent: number
  /** At how many tokens something happens. */
  readonly thresholds: WindowThresholds
  /** To the next thing that happens: the compaction, else the blocking limit, else the end of the window. */
  readonly leftUntilNext: number
  /** Whether the threshold of the warning is passed. */
  readonly isAboveWarning: boolean
  /** Whether the threshold of the compaction is passed. */
  readonly isAboveCompaction: boolean
  /** Whether the threshold is passed at which no request is made. */
  readonly isAtBlockingLimit: boolean
}

/** Which thresholds are passed with so many tokens used. Pure. */
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

/** Tokens from which on no request is made to a model with this window. */
export function blockingLimitOf(contextWindow: number): number {
  return contextWindow - blockingMargin
}
