import type { Transition } from '../allowance.ts'
import type { HaltingError } from '../errors.ts'
import type { Eventually } from '../eventually.ts'
import type { StopSignal } from '../stop/signal.ts'
import { endings, type TerminalReason } from '../stop/terminal.ts'
import type { Attachment, AssistantEntry } from '../transcript.ts'
import type { Run } from './run.ts'

/** How the run ends if no route is taken and nothing overrides it. */
export interface Draft {
  readonly reason: TerminalReason
  readonly signal: StopSignal
  /** Ids of the guards behind it, or of the run's own limit (`limit:…`); an override is remembered by them. */
  readonly raisedBy: readonly string[]
  /** Whether a hook may ask to go on. */
  readonly overridable: boolean
  /** Whether a last answer may be asked for. */
  readonly wrapsUp: boolean
  /** What is put on the transcript at the end: an attachment, an interruption, the error as a message. */
  readonly say?:
    | Attachment
    | { readonly interruption: 'streaming' | 'tools' }
    | { readonly error: AssistantEntry['error'] & string; readonly message: string }
  readonly error?: HaltingError
  /** Puts on record what a route would have withheld: if neither recovery is available, the truncated reply is kept. */
  readonly keep?: (run: Run) => void
}

/**
 * What a route came to. `taken`: the run is ready for the next lap. `declined`: it cannot be taken, and nothing was written.
 * `gave_up`: it was tried and failed, and the run holds what that cost. A draft: an abort cut it, and the run ends.
 */
type Taking = 'taken' | 'declined' | 'gave_up' | Draft

/** One way to go round again, and the transition that pays for it. */
export interface Route {
  readonly transition: Transition
  take(run: Run): Eventually<Taking>
  /** token_budget_continuation: it made enough progress to refill the other allowances. */
  readonly madeProgress?: boolean
}

/** What a turn comes to: routes, in order, and the ending if none of them is taken. */
export interface Outcome {
  readonly routes: readonly Route[]
  /** Called only if no route is taken: most turns are followed by another. */
  draft(): Draft
}

const noRoutes: readonly Route[] = Object.freeze([])

export function ends(draft: Draft): Outcome {
  return { routes: noRoutes, draft: () => draft }
}

export function goesOn(routes: readonly Route[], draft: () => Draft): Outcome {
  return { routes, draft }
}

/** A route that can always be taken and writes nothing. */
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
