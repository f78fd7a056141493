import type { Environment } from '@halting/policy/files'

export type { Environment } from '@halting/policy/files'

/** All limits of what a tool shows to the model, stores in memory or waits for. */
export interface Limits {
  /** Lines of one Read, if the call does not specify a number. */
  readonly readLines: number
  /** Characters of one line; longer lines are truncated. */
  readonly lineCharacters: number
  /** Characters of one Read, Grep or Glob result. */
  readonly readCharacters: number
  /** Characters of one search result. */
  readonly searchCharacters: number
  /** Size of an image in base64: the Messages API refuses more. */
  readonly imageBytes: number
  /** Size of an image file that is read in order to reduce it. */
  readonly imageFileBytes: number
  /** Files larger than this are neither edited nor hashed. */
  readonly editBytes: number
  /** Files that one Glob lists. */
  readonly globFiles: number
  /** Bytes of a file that one Read scans. */
  readonly readBytes: number
  /** Time limit of one Grep or Glob. */
  readonly searchMs: number
  /** Characters of the output of one command. */
  readonly bashOutputCharacters: number
  /** Time limit of a command in milliseconds, if the call does not specify one. */
  readonly bashTimeoutMs: number
  /** Maximum time limit that a call can request, in milliseconds. */
  readonly bashMaxTimeoutMs: number
  /** Time between SIGTERM and SIGKILL. */
  readonly killGraceMs: number
  /**
   * How long a pipe that other processes hold open must be silent before a finished command counts as completely read.
   */
  readonly drainQuietMs: number
}

/** Default limits of tools. */
export const defaultLimits: Limits = Object.freeze({
  readLines: 2000,
  lineCharacters: 2000,
  // Small enough that a result is shown whole (spec R-TOOL-18a): Read itself reports where to continue.
  readCharacters: 48_000,
  searchCharacters: 30_000,
  imageBytes: 5 * 1024 * 1024,
  imageFileBytes: 64 * 1024 * 1024,
  editBytes: 64 * 1024 * 1024,
  globFiles: 100,
  readBytes: 1024 * 1024 * 1024,
  searchMs: 60_000,
  bashOutputCharacters: 30_000,
  bashTimeoutMs: 120_000,
  bashMaxTimeoutMs: 600_000,
  killGraceMs: 1000,
  drainQuietMs: 50,
})

/** The defaults, overridden by the environment, overridden by the caller. */
export function limitsFrom(env: Environment, chosen: Partial<Limits> = {}): Limits {
  const bashMaxTimeoutMs =
    chosen.bashMaxTimeoutMs ?? positive(env['BASH_MAX_TIMEOUT_MS']) ?? defaultLimits.bashMaxTimeoutMs
  const bashTimeoutMs = chosen.bashTimeoutMs ?? positive(env['BASH_DEFAULT_TIMEOUT_MS']) ?? defaultLimits.bashTimeoutMs
  return {
    ...defaultLimits,
    bashOutputCharacters: positive(env['BASH_MAX_OUTPUT_LENGTH']) ?? defaultLimits.bashOutputCharacters,
    ...chosen,
    bashMaxTimeoutMs,
    bashTimeoutMs: Math.min(bashTimeoutMs, bashMaxTimeoutMs),
  }
}

function positive(text: string | undefined): number | undefined {
  const value = Number(text)
  return Number.isSafeInteger(value) && value > 0 ? value : undefined
}
