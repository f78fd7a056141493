/** What a run has used so far, and what its limits leave. JSON. */
export type HookFigures = {
  /** Number of turns. */
  readonly turns: number
  /** Number of executed tool calls, including subagents. */
  readonly toolCalls: number
  /** Input (including cached) and output of all requests, including subagents. */
  readonly tokens: number
  /** US dollars. Usage that was never reported counts at its worst case. */
  readonly usd: number
  /** Active milliseconds. */
  readonly elapsedMs: number
  /** What each limit leaves; absent for no limit. */
  readonly left: {
    /** Turns. */
    readonly turns?: number
    /** Calls of tools. */
    readonly toolCalls?: number
    /** Input and output tokens. */
    readonly tokens?: number
    /** US dollars. */
    readonly usd?: number
    /** Active milliseconds. */
    readonly ms?: number
  }
}

/** Figures before anything was used. */
export const noFigures: HookFigures = Object.freeze({
  turns: 0,
  toolCalls: 0,
  tokens: 0,
  usd: 0,
  elapsedMs: 0,
  left: Object.freeze({}),
})
