import type { Spent } from '../state.ts'
import type { ToolResult } from '../tools/result.ts'

/**
 * What a run has come to since its last lap, for the one case in which no phase can hand it on: the run breaks.
 * Nothing is decided by it.
 */
export interface Progress {
  /** Figures after the last request. */
  spent: Spent | undefined
  /** Calls of the open turn that were begun, and the results of those that ended. */
  readonly begun: Set<string>
  readonly results: Map<string, ToolResult>
}

export function createProgress(): Progress {
  return { spent: undefined, begun: new Set(), results: new Map() }
}
