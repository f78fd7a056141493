/** What ended a wait for a service. `model`: a person chose another; `stopped`: the run is to stop. */
export type ServiceWaitEnd = 'over' | 'retried' | 'model' | 'stopped' | 'aborted'

/** Milliseconds by the wall clock that a run has waited for services, and up to which moment since 1970 they are counted. JSON. */
export type ServiceWaits = { readonly ms: number; readonly untilMs: number }

/** What two parts of a run have waited, by the wall clock: agents that wait at the same time wait once. `later` is entered second. */
export function bothWaits(before: ServiceWaits | undefined, later: ServiceWaits): ServiceWaits {
  if (before === undefined) return later
  const past = Math.max(0, later.untilMs - before.untilMs)
  return { ms: before.ms + Math.min(later.ms, past), untilMs: Math.max(before.untilMs, later.untilMs) }
}
