import type { RunEvent } from './events.ts'

type Figures = Extract<RunEvent, { readonly type: 'figures' }>

/**
 * The figures of the whole run in an event, reported by the run itself or by a subagent on any level. `isOwn`: reported
 * by the run itself. Only then does the context window belong to the run's model. Undefined for all other events.
 */
export function figuresIn(event: RunEvent):
  | {
      /** The figures. */
      readonly figures: Figures
      /** Whether the run itself reported them, rather than a subagent. */
      readonly isOwn: boolean
    }
  | undefined {
  const inner = innermostEvent(event)
  return inner.type === 'figures' ? { figures: inner, isOwn: inner === event } : undefined
}

/** The event that a subagent on any level reported; an event of the run itself is returned unchanged. */
export function innermostEvent(event: RunEvent): RunEvent {
  let inner = event
  while (inner.type === 'agent') inner = inner.event
  return inner
}
