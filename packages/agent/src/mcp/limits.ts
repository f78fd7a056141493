/** Limits of time, memory and context window for a server. */
export interface McpLimits {
  /** Maximum time until a server is connected and has listed its tools and prompts. */
  readonly connectMs: number
  /** Time limit of one tool call. */
  readonly toolMs: number
  /** Maximum time that a call waits for the user to finish on a page, after the user agreed to open it. */
  readonly pageMs: number
  /** Time that the first request waits for further servers after the first server is connected. */
  readonly waitAfterFirstMs: number
  /** Total time that the first request waits for servers. */
  readonly waitMs: number
  /** Maximum number of tokens of one result that the model receives. */
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
  /** After a connection has lasted this long, the attempts are counted from zero again. */
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
