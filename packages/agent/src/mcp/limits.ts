/** What a server may take of time, memory and the model's window. */
export interface McpLimits {
  /** Until a server is connected and has said what it offers. */
  readonly connectMs: number
  /** One call of a tool. */
  readonly toolMs: number
  /** How long a call waits for a person to finish on a page, after they agreed to open it. */
  readonly pageMs: number
  /** How long the first request waits for servers after the first of them is there, and how long in all. */
  readonly waitAfterFirstMs: number
  /** How long in all. */
  readonly waitMs: number
  /** Tokens of one result that the model is shown. */
  readonly outputTokens: number
  /** One message. */
  readonly messageBytes: number
  /** Tools of one server. */
  readonly tools: number
  /** Characters of one description. */
  readonly descriptionCharacters: number
  /** Images of one result. */
  readonly imagesOfResult: number
  /** Between SIGTERM and SIGKILL. */
  readonly killGraceMs: number
  /** Before each new try at a server that was there and is gone. */
  readonly reconnectMs: readonly number[]
  /** A connection that held for so long begins to count its tries anew. */
  readonly stableMs: number
}

/** The limits of MCP servers where the caller sets no others. */
export const defaultMcpLimits: McpLimits = Object.freeze({
  connectMs: 30_000,
  toolMs: 600_000,
  pageMs: 120_000,
  waitAfterFirstMs: 2_000,
  waitMs: 5_000,
  outputTokens: 25_000,
  messageBytes: 16 * 1024 * 1024,
  tools: 1_000,
  descriptionCharacters: 2_048,
  imagesOfResult: 20,
  killGraceMs: 1_000,
  reconnectMs: Object.freeze([500, 1_000, 2_000, 4_000, 8_000]),
  stableMs: 60_000,
})

/** About so many characters make a token. */
export const charactersPerToken = 4

type Environment = Readonly<Record<string, string | undefined>>

/** The defaults, then what the environment says, then what the caller says. */
export function mcpLimitsFrom(env: Environment, chosen: Partial<McpLimits> = {}): McpLimits {
  const waitMs = env['HALTING_MCP_WAIT_MS'] === '0' ? 0 : positive(env['HALTING_MCP_WAIT_MS'])
  const said = {
    connectMs: positive(env['MCP_TIMEOUT']),
    toolMs: positive(env['MCP_TOOL_TIMEOUT']),
    outputTokens: positive(env['MAX_MCP_OUTPUT_TOKENS']),
    // Who says how long knows what they wait for.
    waitMs,
    waitAfterFirstMs: waitMs,
  }
  const given = Object.fromEntries(Object.entries(said).filter(([, value]) => value !== undefined))
  return { ...defaultMcpLimits, ...given, ...chosen }
}

/** A timer takes no more than this. */
const longestTimerMs = 2 ** 31 - 1

function positive(text: string | undefined): number | undefined {
  const value = Number(text)
  return text !== undefined && Number.isFinite(value) && value > 0 ? Math.min(value, longestTimerMs) : undefined
}
