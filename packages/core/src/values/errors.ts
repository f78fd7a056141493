import { jsonOf, type Json } from './json.ts'

/** The kind of an error, for programs to branch on. */
export type HaltingErrorCode =
  /** Invalid options, reported before anything starts. The program exits with 2. */
  | 'configuration'
  /** The model service failed; see `ModelError`. */
  | 'model'
  /** All attempts at a request failed. */
  | 'retries_exhausted'
  /** A hook, guard or other callback threw where the run needed its answer. */
  | 'callback'
  /** The step engine failed, so nothing more can be recorded. */
  | 'driver'
  /** The record contains this step with another conversation or call. Nothing was written, and the record stays open for the run that it belongs to. */
  | 'step_mismatch'
  /** The process was about to exit while the run waited for something that could never happen. */
  | 'stalled'
  /** A replay reached the end of its record, so the next step is unknown. */
  | 'replay_exhausted'
  /** The prompt was longer than the model accepts, which ended the run. */
  | 'prompt_too_long'
  /** The service refused an image. */
  | 'image'
  /** The library violated one of its own guarantees; please report it. */
  | 'internal'

/** A `HaltingError` as JSON: written by `toJSON`, read by `fromJSON`. */
export type HaltingErrorJson = {
  /** Code of the error. */
  readonly code: HaltingErrorCode
  /** What happened, and what to do. */
  readonly message: string
  /** Facts about the error, for programs; absent if there are none. */
  readonly details?: Json
}

/** The base class of all errors of this library, with a `code` to branch on and a message that says what to do. */
export class HaltingError extends Error {
  override readonly name: string = 'HaltingError'
  readonly code: HaltingErrorCode
  /** Facts about the error, for programs; undefined if there are none. */
  readonly details: Json | undefined

  constructor(
    code: HaltingErrorCode,
    message: string,
    options: {
      /** Facts about the error, for programs. */
      readonly details?: Json
      /** The underlying error, as `Error.cause`. */
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

  /** Creates an error from the result of `toJSON`. */
  static fromJSON(stored: HaltingErrorJson): HaltingError {
    return new HaltingError(
      stored.code,
      stored.message,
      stored.details === undefined ? {} : { details: stored.details },
    )
  }
}

/** Invalid options, found before anything started. */
export class ConfigurationError extends HaltingError {
  override readonly name = 'ConfigurationError'
  constructor(message: string) {
    super('configuration', message)
  }
}

/** The message of a thrown value. Callers may throw anything, even values that cannot be read. */
export function messageOf(thrown: unknown): string {
  try {
    if (thrown instanceof Error) return textOf(thrown.message || thrown.name)
    return typeof thrown === 'string' ? thrown : `thrown: ${textOf(thrown)}`
  } catch {
    return 'thrown: a value that cannot be read'
  }
}

function textOf(value: unknown): string {
  return typeof value === 'object' && value !== null ? JSON.stringify(jsonOf(value)) : String(value)
}

/** The `code` of a Node error, such as ENOENT. */
export function codeOf(thrown: unknown): string | undefined {
  return thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : undefined
}

/** `instanceof` for untrusted values: a proxy may throw even in this check. */
export function isInstance<T>(value: unknown, type: abstract new (...parts: never) => T): value is T {
  try {
    return value instanceof type
  } catch {
    return false
  }
}
