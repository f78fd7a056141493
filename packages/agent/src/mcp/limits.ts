/** Limits of time, memory and context window for a server. */
export interface McpLimits {
  /** Time until a server is connected and has listed what it offers. */
  readonly connectMs: number
  /** Time of one tool call. */
  readonly toolMs: number
  /** Time that a call waits for the user to finish on a page, after they agreed to open it. */
  readonly pageMs: number
  /** Time that the first request waits for further servers after the first one is connected. */
  readonly waitAfterFirstMs: number
  /** Time that the first request waits for servers in all. */
  readonly waitMs: number
  /** Maximum tokens of one result that the model sees. */
  readonly outputTokens: number
  /** Maximum bytes of one message. */
  readonly messageBytes: number
  /** Maximum number of tools of one server. */
  readonly tools: number
  /** Maximum characters of one description. */
  readonly descriptionCharacters: number
  /** Maximum number of images of one result. */
  readonly imagesOfResult: number
  /** Time between SIGTERM and SIGKILL. */
  readonly killGraceMs: number
  /** Delays before each attempt to reconnect to a server. */
  readonly reconnectMs: readonly number[]
  /** After a connection of this duration, the attempts are counted anew. */
  readonly stableMs: number
}

/** Default limits of MCP servers. */
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

/** Approximate number of characters per token. */
export const charactersPerToken = 4

type Environment = Readonly<Record<string, string | undefined>>

/** The defaults, overridden by the environment, overridden by the caller. */
export function mcpLimitsFrom(env: Environment, chosen: Partial<McpLimits> = {}): McpLimits {
  const waitMs = env['HALTING_MCP_WAIT_MS'] === '0' ? 0 : positive(env['HALTING_MCP_WAIT_MS'])
  const fromEnvironment = {
    connectMs: positive(env['MCP_TIMEOUT']),
    toolMs: positive(env['MCP_TOOL_TIMEOUT']),
    outputTokens: positive(env['MAX_MCP_OUTPUT_TOKENS']),
    // An explicit time applies to every wait.
    waitMs,
    waitAfterFirstMs: waitMs,
  }
  const setLimits = Object.fromEntries(Object.entries(fromEnvironment).filter(([, value]) => value !== undefined))
  return { ...defaultMcpLimits, ...setLimits, ...chosen }
}

/** Maximum value of a timer. */
const longestTimerMs = 2 ** 31 - 1

function positive(text: string | undefined): number | undefined {
  const value = Number(text)
  return text !== undefined && Number.isFinite(value) && value > 0 ? Math.min(value, longestTimerMs) : undefined
}
