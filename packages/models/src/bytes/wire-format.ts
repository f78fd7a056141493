import type { ModelMessage } from '@halting/core'

/** How a service wants messages to look. Each adapter has one, and creates it once. */
export interface WireFormat {
  /**
   * The JSON text of a message, asked for once in its life: it may depend on the message's `role`, `content` and `by`
   * and on the adapter's own options, and on nothing else.
   */
  render(message: ModelMessage): Rendered
  /** JSON values with commas between them that must stand between two turns; mostly none. It may depend on nothing else. */
  between?(before: TurnKind, after: TurnKind): string
  readonly breakpoints?: Breakpoints
  /** The kind of turn that may have what others held back; absent where none holds anything back. */
  readonly deferredKind?: TurnKind
}

/** A message as JSON values with commas between them. With neither it is left out, and its neighbours meet. */
export interface Rendered {
  /** Constants of the adapter, compared by identity. */
  readonly kind: TurnKind
  /** Where messages of a turn are merged, the first parts of all of them come before the rest of any. */
  readonly first: string
  readonly rest: string
}

export interface TurnKind {
  /** What stands before and after the values of a turn: both empty where each value is a message by itself. */
  readonly opening: string
  readonly closing: string
  /** Neighbouring messages of this kind become one turn. */
  readonly merges: boolean
  readonly takesBreakpoint: boolean
  /**
   * What the turn behind one of this kind is, where that has first parts: these alone. The rest of it stands with the next turn that may
   * have it, or as one before the next turn of `this` kind or at the end of the list, if `releasesDeferred` says that nothing is open there.
   */
  readonly answeredBy?: TurnKind
  /** A turn of this kind is whole: what was held back may stand behind it. */
  readonly releasesDeferred?: boolean
}

/** Fields that the last value of the newest turns has besides its own. */
export interface Breakpoints {
  /** In so many of the newest turns whose kind takes one. */
  readonly turns: number
  /** `,"name":value`; goes before the last brace of the last value, which must therefore be an object. */
  readonly fields: string
}
