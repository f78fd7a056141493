import { plainTextOf } from '../model/content.ts'
import { deepFreeze, isJsonObject, jsonObjectOf, type JsonObject } from '../values/json.ts'
import { StopCategory } from './reason.ts'

/** The input of a signal. */
export interface StopSignalInit {
  /** Why to stop; it decides the ending and the priority among signals. */
  readonly reason: StopCategory
  /** A message for a person, with figures: `Step limit reached: 10/10`. */
  readonly message?: string
  /**
   * Limits and counters, for diagnosis. Stored as a JSON copy: a Date becomes its ISO text, a Map or a Set `{}`, a
   * bigint its digits, a circular part `[circular]`. A value that is not an object is omitted.
   */
  readonly context?: JsonObject
  /** The source of the signal: the name of a guard, hook or tool. */
  readonly source?: string | null | undefined
}

/** The stored form of a signal. */
export type StopSignalJson = {
  /** Why to stop. */
  readonly reason: StopCategory
  /** For a person, with figures. */
  readonly message: string
  /** Limits and counters, for diagnosis; `{}` for none. */
  readonly context: JsonObject
  /** Name of the guard, hook or tool that raised it; null when not known. */
  readonly source: string | null
}

/** The fields of an `AgentStopException` that `fromStopException` reads. */
interface StopException {
  readonly signal: StopSignal
  readonly message: string
  readonly context: JsonObject
  readonly source: string | null
}

const noContext: JsonObject = Object.freeze({})

// Spec R-STOP-1.
/** An immutable request to stop. */
export class StopSignal {
  /** Why to stop. */
  readonly reason: StopCategory
  /** For a person, with figures. */
  readonly message: string
  /** Limits and counters, for diagnosis; `{}` for none. Deeply frozen. */
  readonly context: JsonObject
  /** Name of the guard, hook or tool that raised it; null when not known. */
  readonly source: string | null

  constructor(init: StopSignalInit) {
    // Plain JavaScript may pass an invalid reason, and texts that are not strings.
    this.reason = StopCategory.parse(init.reason)
    this.message = plainTextOf(init.message)
    this.context = init.context === undefined ? noContext : deepFreeze(jsonObjectOf(init.context))
    this.source = init.source === undefined || init.source === null ? null : plainTextOf(init.source)
    Object.freeze(this)
  }

  /** A signal with the category `user_requested`. */
  static userRequested(
    message = 'Stop requested by user',
    details: {
      /** Limits and counters, for diagnosis. */
      readonly context?: JsonObject
      /** Name of what raised it. */
      readonly source?: string
    } = {},
  ): StopSignal {
    return new StopSignal({ reason: 'user_requested', message, ...details })
  }

  // Spec R-STOP-7.
  /**
   * The signal of a thrown `AgentStopException`. It has the reason and message of the exception's own signal, and both
   * contexts merged; the exception's values take precedence. The source is that of the exception, if it has one.
   */
  static fromStopException(exception: StopException): StopSignal {
    const { signal } = exception
    return new StopSignal({
      reason: signal.reason,
      message: exception.message,
      context: { ...signal.context, ...exception.context },
      source: exception.source ?? signal.source,
    })
  }

  /** Whether something other than an answer of the model ended the run: every category but `completed` and `finish_reason`. */
  wasForceStopped(): boolean {
    return StopCategory.wasForceStopped(this.reason)
  }

  /** `steps_limit: Step limit reached: 10/10`; the reason alone when there is no message. */
  toString(): string {
    return this.message === '' ? this.reason : `${this.reason}: ${this.message}`
  }

  /** The stored form, which the constructor accepts. */
  toJSON(): StopSignalJson {
    return { reason: this.reason, message: this.message, context: this.context, source: this.source }
  }

  /** Reads stored data. Missing or invalid fields become empty; an unknown reason becomes `unknown`. */
  static fromJSON(data: unknown): StopSignal {
    if (data instanceof StopSignal) return data
    const stored = isJsonObject(data) ? data : {}
    return new StopSignal({
      reason: StopCategory.parse(stored['reason']),
      message: typeof stored['message'] === 'string' ? stored['message'] : '',
      context: isJsonObject(stored['context']) ? stored['context'] : {},
      source: typeof stored['source'] === 'string' ? stored['source'] : null,
    })
  }
}
