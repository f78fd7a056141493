import type { Transition } from '../allowance.ts'
import type { HaltingError } from '../errors.ts'
import type { RunState } from '../state.ts'
import type { StopSignal } from '../stop/signal.ts'
import { endings, type TerminalReason } from '../stop/terminal.ts'
import type { Attachment, AssistantEntry } from '../transcript.ts'

/** How a run is going to end unless `decide` finds a way on. */
export interface Draft {
  readonly reason: TerminalReason
  readonly signal: StopSignal
  /** Names of the guards behind it; an override is remembered by them. */
  readonly raisedBy: readonly string[]
  /** Whether a hook may ask to go on. */
  readonly overridable: boolean
  /** Whether a last answer may be asked for. */
  readonly wrapsUp: boolean
  /** Said at the end: an attachment, an interruption, the error as a message. */
  readonly say?:
    | Attachment
    | { readonly interruption: 'streaming' | 'tools' }
    | { readonly error: AssistantEntry['error'] & string; readonly message: string }
  readonly error?: HaltingError
  /** What a way on would have withheld and the ending keeps: the reply that was cut. */
  readonly keep?: (state: RunState) => RunState
}

/** A way to go round again. `take` makes the state of the next lap, or nothing when the way is not open after all. */
export interface Route {
  readonly transition: Transition
  take(state: RunState): RunState | undefined | Promise<RunState | undefined>
  /** token_budget_continuation: it gained enough to refill the other allowances. */
  readonly gained?: boolean
}

/** What a turn comes to: ways on, in order, and the ending when none of them is open and paid for. */
export interface Outcome {
  readonly kind: 'outcome'
  readonly state: RunState
  readonly routes: readonly Route[]
  /** Written only when it comes to that: most laps go round again. */
  draft(): Draft
}

const noRoutes: readonly Route[] = Object.freeze([])

export function ends(state: RunState, draft: Draft): Outcome {
  return { kind: 'outcome', state, routes: noRoutes, draft: () => draft }
}

export function goesOn(state: RunState, routes: readonly Route[], draft: () => Draft): Outcome {
  return { kind: 'outcome', state, routes, draft }
}

export function draftOf(
  reason: TerminalReason,
  signal: StopSignal,
  more: Partial<Omit<Draft, 'reason' | 'signal'>> = {},
): Draft {
  return {
    reason,
    signal,
    raisedBy: [],
    overridable: endings[reason].overridable,
    wrapsUp: endings[reason].wrapsUp,
    ...more,
  }
}
