import type { Environment } from '@halting/policy/files'

export type { Environment } from '@halting/policy/files'

/** Everything that a tool shows to the model, keeps in memory or waits for has a bound, and all bounds are here. */
export interface Limits {
  /** Lines of one Read when the call does not say. */
  readonly readLines: number
  /** Characters of one line; what is longer is cut. */
  readonly lineCharacters: number
  /** Characters of one Read, Grep or Glob result. */
  readonly readCharacters: number
  /** Characters of one result of a search. */
  readonly searchCharacters: number
  /** Size of an image once it is base64: the Messages API refuses more. */
  readonly imageBytes: number
  /** Size of an image file that is read to be made smaller. */
  readonly imageFileBytes: number
  /** Files larger than this are neither edited nor hashed. */
  readonly editBytes: number
  /** Files that one Glob lists. */
  readonly globFiles: number
  /** Bytes of a file that one Read goes through. */
  readonly readBytes: number
  /** How long one Grep or Glob may take. */
  readonly searchMs: number
  /** Characters of the output of one command. */
  readonly bashOutputCharacters: number
  /** Milliseconds that a command may take when the call does not say. */
  readonly bashTimeoutMs: number
  /** Most milliseconds that a call can ask for. */
  readonly bashMaxTimeoutMs: number
  /** Between SIGTERM and SIGKILL. */
  readonly killGraceMs: number
  /** How long a pipe that something else still holds must be quiet before a finished command counts as told. */
  readonly drainQuietMs: number
}

/** The limits of tools where neither the environment nor the caller sets others. */
export const defaultLimits: Limits = Object.freeze({
  readLines: 2000,
  lineCharacters: 2000,
  // Within one result that is shown whole (spec R-TOOL-18a): Read itself then says where to go on.
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

/** The defaults, then what the environment says, then what the caller says. */
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
