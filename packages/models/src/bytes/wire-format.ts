import type { ModelMessage } from '@halting/core'

/** The message format of a service. Each adapter creates one. */
export interface WireFormat {
  /**
   * Returns the JSON text of a message. It is called once per message and may depend only on `role`, `content`, `by`
   * and the adapter's options.
   */
  render(message: ModelMessage): Rendered
  /** Returns comma-separated JSON values between two turns, usually none. It may depend on nothing else. */
  between?(before: TurnKind, after: TurnKind): string
  readonly breakpoints?: Breakpoints
  /** Kind of turn that may contain deferred parts; undefined if nothing is deferred. */
  readonly deferredKind?: TurnKind
}

/**
 * A message as comma-separated JSON values. A message without values is omitted, and its neighbours become adjacent.
 */
export interface Rendered {
  /** The kind is a constant of the adapter and is compared by identity. */
  readonly kind: TurnKind
  /** In a merged turn the first parts of all messages precede all other parts. */
  readonly first: string
  readonly rest: string
}

export interface TurnKind {
  /** Text before and after the values of a turn; both empty if each value is a separate message. */
  readonly opening: string
  readonly closing: string
  /** Neighbouring messages of this kind become one turn. */
  readonly merges: boolean
  readonly takesBreakpoint: boolean
  /**
   * Kind of the next turn if that turn has first parts: the turn then contains only the first parts. Its other parts
   * are deferred to the
   * next turn that may contain them, or to a separate turn. That precedes the next turn of this kind or ends the list,
   * if `releasesDeferred` allows it.
   */
  readonly answeredBy?: TurnKind
  /** A turn of this kind is complete, so deferred parts may follow it. */
  readonly releasesDeferred?: boolean
}

/** Fields added to the last value of the newest turns. */
export interface Breakpoints {
  /** Number of the newest turns, of kinds that support it. */
  readonly turns: number
  /** `,"name":value`, inserted before the closing brace of the last value, which must be an object. */
  readonly fields: string
}
