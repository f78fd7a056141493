import { jsonOf, type Json } from './json.ts'

/** What an error is about, to branch on. */
export type HaltingErrorCode =
  /** Options that cannot be run: told before anything starts. The program exits with 2. */
  | 'configuration'
  /** The model service failed; see `ModelError`. */
  | 'model'
  /** All attempts at a request failed. */
  | 'retries_exhausted'
  /** A hook, guard or other callback threw where the run could not go on without its answer. */
  | 'callback'
  /** The step engine failed: nothing more can be recorded. */
  | 'driver'
  /** A step is on record with another conversation or call: nothing was written, and the record stays open for the right one. */
  | 'step_mismatch'
  /** The process was about to exit while the run waited for something that could never come. */
  | 'stalled'
  /** A replay reached the end of its record: what follows is not known. */
  | 'replay_exhausted'
  /** The run was ended by the prompt being longer than the model can take. */
  | 'prompt_too_long'
  /** An image that the service refuses. */
  | 'image'
  /** A promise of this library was broken; please report it. */
  | 'internal'

/** A `HaltingError` as JSON: what `toJSON` gives and `fromJSON` reads. */
export type HaltingErrorJson = {
  /** Code of the error. */
  readonly code: HaltingErrorCode
  /** What happened, and what to do. */
  readonly message: string
  /** Facts about the error, for programs; absent for none. */
  readonly details?: Json
}

/** Every error of this library has a `code` to branch on and a message that says what to do. */
export class HaltingError extends Error {
  override readonly name: string = 'HaltingError'
  readonly code: HaltingErrorCode
  /** Facts about the error, for programs; undefined for none. */
  readonly details: Json | undefined

  constructor(
    code: HaltingErrorCode,
    message: string,
    options: {
      /** Facts about the error, for programs. */
      readonly details?: Json
      /** The error behind it, as `Error.cause`. */
      readonly cause?: unknown
    } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.details = options.details
  }

  /** A plain object for JSON. */
  toJSON(): HaltingErrorJson {
    const { code, message, details } = this
    return details === undefined ? { code, message } : { code, message, details }
  }

  /** An error from what `toJSON` returned. */
  static fromJSON(stored: HaltingErrorJson): HaltingError {
    return new HaltingError(
      stored.code,
      stored.message,
      stored.details === undefined ? {} : { details: stored.details },
    )
  }
}

/** Options that cannot be run, found before anything started. */
export class ConfigurationError extends HaltingError {
  override readonly name = 'ConfigurationError'
  constructor(message: string) {
    super('configuration', message)
  }
}

/** A text for whatever was thrown; callers may throw anything, also what cannot be read. */
export function messageOf(thrown: unknown): string {
  try {
    if (thrown instanceof Error) return textOf(thrown.message || thrown.name)
    return typeof thrown === 'string' ? thrown : `thrown: ${textOf(thrown)}`
  } catch {
    return 'thrown: something that cannot be read'
  }
}

function textOf(value: unknown): string {
  return typeof value === 'object' && value !== null ? JSON.stringify(jsonOf(value)) : String(value)
}

/** The `code` of an error of Node, such as ENOENT. */
export function codeOf(thrown: unknown): string | undefined {
  return thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : undefined
}

/** `instanceof`, for what strangers hand over: a proxy may throw even there. */
export function isInstance<T>(value: unknown, type: abstract new (...parts: never) => T): value is T {
  try {
    return value instanceof type
  } catch {
    return false
  }
}
