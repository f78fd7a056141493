/** What a run has used so far, and what its limits leave. JSON. */
export type HookFigures = {
  /** Turns that were made. */
  readonly turns: number
  /** Calls of tools that were let run, subagents' too. */
  readonly toolCalls: number
  /** Input (cached too) and output of all requests, subagents too. */
  readonly tokens: number
  /** US dollars; what nobody told is in it at its worst case. */
  readonly usd: number
  /** Active milliseconds. */
  readonly elapsedMs: number
  /** What is left of each limit that there is. */
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

/** Of what no run has used anything yet. */
export const noFigures: HookFigures = Object.freeze({
  turns: 0,
  toolCalls: 0,
  tokens: 0,
  usd: 0,
  elapsedMs: 0,
  left: Object.freeze({}),
})
