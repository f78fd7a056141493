import type { RunEvent } from './events.ts'

type Figures = Extract<RunEvent, { readonly type: 'figures' }>

/**
 * The figures of the whole run in an event, whoever reports them: the run itself, or a subagent on any level. `isOwn`: by the run itself; the window of the model is
 * that of whoever reports, so only then it is the run's. Undefined for all other events.
 */
export function figuresIn(event: RunEvent):
  | {
      /** The figures. */
      readonly figures: Figures
      /** Whether the run itself reported them, and no subagent. */
      readonly isOwn: boolean
    }
  | undefined {
  const inner = innermostEvent(event)
  return inner.type === 'figures' ? { figures: inner, isOwn: inner === event } : undefined
}

/** The event that a subagent on any level reported; that of the run itself as it is. */
export function innermostEvent(event: RunEvent): RunEvent {
  let inner = event
  while (inner.type === 'agent') inner = inner.event
  return inner
}
