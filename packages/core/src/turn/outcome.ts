import type { Transition } from '../allowance.ts'
import type { HaltingError } from '../errors.ts'
import type { Eventually } from '../eventually.ts'
import type { StopSignal } from '../stop/signal.ts'
import { endings, type TerminalReason } from '../stop/terminal.ts'
import type { Attachment, AssistantEntry } from '../transcript.ts'
import type { Run } from './run.ts'

/** How a run is going to end unless `decide` finds a way on. */
export interface Draft {
  readonly reason: TerminalReason
  readonly signal: StopSignal
  /** Ids of the guards behind it, or of the run's own limit (`limit:…`); an override is remembered by them. */
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
  readonly keep?: (run: Run) => void
}

/**
 * What a route came to. `taken`: the run stands as the next lap begins. `declined`: it is not open after all, and nothing was written.
 * `gave_up`: it was tried and failed, and the run holds what that cost.
 */
type Taking = 'taken' | 'declined' | 'gave_up'

/** A way to go round again. */
export interface Route {
  readonly transition: Transition
  take(run: Run): Eventually<Taking>
  /** token_budget_continuation: it gained enough to refill the other allowances. */
  readonly madeProgress?: boolean
}

/** What a turn comes to: ways on, in order, and the ending when none of them is open and paid for. */
export interface Outcome {
  readonly routes: readonly Route[]
  /** Written only when it comes to that: most laps go round again. */
  draft(): Draft
}

const noRoutes: readonly Route[] = Object.freeze([])

export function ends(draft: Draft): Outcome {
  return { routes: noRoutes, draft: () => draft }
}

export function goesOn(routes: readonly Route[], draft: () => Draft): Outcome {
  return { routes, draft }
}

/** A route that is always open and changes nothing by itself. */
export function onward(transition: Transition): Route {
  return { transition, take: () => 'taken' }
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
