import type { IterationReason } from '../limits/transition-rules.ts'
import type { HaltingError } from '../values/errors.ts'
import type { MaybePromise } from '../values/maybe-promise.ts'
import type { StopSignal } from '../endings/signal.ts'
import type { EndingReason } from '../endings/ending.ts'
import { endings } from '../endings/table.ts'
import type { Attachment, AssistantEntry } from '../conversation/transcript.ts'
import type { Run } from './run.ts'

/** How the run will end, unless a route is taken or a hook overrides the ending. */
export interface PendingEnding {
  readonly reason: EndingReason
  readonly signal: StopSignal
  /** Ids of the guards that raised it, or of the run's own limit (`limit:…`). An override is stored under these ids. */
  readonly raisedBy: readonly string[]
  /** Whether a hook may request to continue. */
  readonly overridable: boolean
  /** Whether a last answer may be requested. */
  readonly wrapsUp: boolean
  /**
   * Whether one of the run's own limits is reached, with `used` and `limit` in its signal. A person may raise it. False
   * for the limit of a guard, a lease or a standing budget.
   */
  readonly isOwnLimit: boolean
  /** What is appended to the transcript at the end: an attachment, an interruption, or the error as a message. */
  readonly closingEntry?:
    | Attachment
    | { readonly interruption: 'streaming' | 'tools' }
    | { readonly error: AssistantEntry['error'] & string; readonly message: string }
  readonly error?: HaltingError
  /** Appends what a route would have omitted, which is the truncated reply when no recovery is available. */
  readonly appendOmitted?: (run: Run) => void
}

/**
 * The result of trying a route. `taken`: the run is ready for the next iteration. `declined`: the route does not apply,
 * and nothing was written. `gave_up`: the route was tried and failed, and its cost is charged. A pending ending: the
 * route was aborted, and the run ends.
 */
type RouteResult = 'taken' | 'declined' | 'gave_up' | PendingEnding

/** One way to start another iteration, and the transition that it is charged to. */
export interface Route {
  readonly transition: IterationReason
  take(run: Run): MaybePromise<RouteResult>
  /** Set for a `token_budget_continuation` that made enough progress to refill the other retry limits. */
  readonly madeProgress?: boolean
}

/** The result of a turn: ways to continue, in order, and the ending if none of them is taken. */
export interface Outcome {
  readonly routes: readonly Route[]
  /** Called only if no route is taken: most turns are followed by another. */
  pendingEnding(): PendingEnding
}

const noRoutes: readonly Route[] = Object.freeze([])

export function endWith(pendingEnding: PendingEnding): Outcome {
  return { routes: noRoutes, pendingEnding: () => pendingEnding }
}

export function proceed(routes: readonly Route[], pendingEnding: () => PendingEnding): Outcome {
  return { routes, pendingEnding }
}

/** A route that can always be taken and writes nothing. */
export function continueWith(transition: IterationReason): Route {
  return { transition, take: () => 'taken' }
}

export function pendingEndingOf(
  reason: EndingReason,
  signal: StopSignal,
  more: Partial<Omit<PendingEnding, 'reason' | 'signal'>> = {},
): PendingEnding {
  return {
    reason,
    signal,
    raisedBy: [],
    overridable: endings[reason].overridable,
    wrapsUp: endings[reason].wrapsUp,
    isOwnLimit: false,
    ...more,
  }
}
