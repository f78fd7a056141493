import type { RunEvent } from '../state/events.ts'
import type { ModelErrorJson } from '../model/model-error.ts'
import { isServiceLimit, longestQuietWaitMs, serviceWaitMs } from '../model/service-limit.ts'
import type { MayWait, ServiceWaitEnd, ServiceWaits, WaitTime } from '../model/service-waits.ts'
import { settingsAfter } from '../state/settings-change.ts'
import { wallTimeOf } from '../values/clock.ts'
import type { WaitResult } from '../steps/step-engine.ts'
import type { Run } from '../run/run.ts'
import type { RequestPlan } from './request-plan.ts'

/** The failed attempt before a wait. */
export interface WaitAfter {
  readonly plan: RequestPlan
  readonly error: ModelErrorJson
  readonly mayWait: MayWait | undefined
  /** The key of the retry that would follow. */
  readonly retryKey: string
  /** Whether no further attempt is made without a wait. */
  readonly isFinal: boolean
  /** Whether another attempt with another model follows soon. */
  readonly mayFallBack: boolean
  /** Whether the next attempt uses a model that a person chooses during the wait. */
  readonly isRenewable: boolean
}

// Spec R-SERV-4a.
/** Whether to wait after a failure. It depends only on the state when the attempt failed, so a resumed process decides the same. */
export function mayWaitAfter({ context, ports }: Run, error: ModelErrorJson): MayWait | undefined {
  const { waitForLimitsMs } = context.settings
  if (waitForLimitsMs === 0 || !isServiceLimit(error)) return undefined
  const atMs = wallTimeOf(context.timers)
  return { atMs, leftMs: ports.waitTime.leftMs(waitForLimitsMs, atMs) }
}

/** The request that waits: emits the events of the wait and enters its figures. */
export interface ServiceWaiter {
  report(event: RunEvent): void
  /** Called when the wait is over, to enter its figures before anything else happens. */
  enterWait(waited: ServiceWaits): void
}

// Spec R-SERV-1.
/** The waits of one request for its service. */
export class RequestWaits {
  readonly #run: Run
  /** Number of consecutive waits. */
  #number = 0

  constructor(run: Run) {
    this.#run = run
  }

  /** Whether the request has already waited for its service, which is still unavailable. There are no quick retries between two waits. */
  continuesWaiting(error: ModelErrorJson): boolean {
    return this.#number > 0 && isServiceLimit(error)
  }

  /** How long to wait after this failure, in milliseconds; undefined for no wait. A recorded wait is repeated regardless of the current options. */
  dueMs(failed: WaitAfter): number | undefined {
    const { steps, isRecordOnly } = this.#run.ports
    const key = waitKeyOf(failed)
    if (steps.peek(key) !== 'absent') return 0
    const { error, plan, isFinal, mayFallBack, mayWait } = failed
    const isRecordedAnyway = isRecordOnly || steps.peek(failed.retryKey) !== 'absent'
    if (isRecordedAnyway || plan.isOptional === true || mayWait === undefined) return undefined
    const isLong = !mayFallBack && (error.retryAfterMs ?? 0) > longestQuietWaitMs
    if (!isFinal && !isLong) return undefined
    const wantedMs = serviceWaitMs({ error, number: this.#number + 1, leftMs: mayWait.leftMs, key })
    const agoMs = Math.max(0, wallTimeOf(this.#run.context.timers) - mayWait.atMs)
    return wantedMs === undefined ? undefined : Math.max(0, wantedMs - agoMs)
  }

  /** Waits. Active time is paused: neither the time limit nor the figures count the wait. */
  async wait(failed: WaitAfter, dueMs: number, waiter: ServiceWaiter): Promise<ServiceWaitEnd> {
    const { steps, abort, deadline, inbox, waitTime } = this.#run.ports
    const { error, plan, isRenewable } = failed
    const key = waitKeyOf(failed)
    const about = { model: plan.model.id, error }
    let moments: { readonly sinceMs: number; readonly untilMs: number } | undefined
    let end: ReturnType<WaitTime['begin']> | undefined
    const isLive = steps.peek(key) === 'absent'
    this.#number++
    const times = [deadline, ...(plan.times ?? [])]
    for (const time of times) time.pause()
    let waited: WaitResult<unknown>
    try {
      waited = await steps.wait(key, {
        signal: abort.signal,
        longestMs: dueMs,
        // A question does not change its model. Setting the current model again does not end the wait, since a worker
        // may receive the same setting twice.
        wakeOn: (wake) =>
          inbox.onWake((why, chosen) => {
            const isOther = isRenewable && this.#chosenModelId(chosen) !== plan.model.id
            if (why !== 'model' || isOther) wake(why)
          }),
        onBegin: (newWait) => {
          moments = newWait
          end = waitTime.begin(newWait, isLive)
          this.#run.emit({ type: 'service_wait', isWaiting: true, ...about, ...newWait })
        },
      })
    } finally {
      for (const time of times) time.resume()
      if (moments !== undefined) this.#run.emit({ type: 'service_wait', isWaiting: false, ...about, ...moments })
    }
    const outcome = waitEndOf(waited)
    const { waitedMs, endedMs } = waited
    // A wait that is replayed from the record did not begin in this process.
    end ??= waitTime.begin({ sinceMs: endedMs - waitedMs, untilMs: endedMs }, false)
    waiter.enterWait(end(endedMs))
    waiter.report({ type: 'service_waited', outcome, waitedMs, ...about })
    return outcome
  }

  /** The id of a chosen model: null means the model of the options. */
  #chosenModelId(chosen: string | null | undefined): string {
    if (typeof chosen === 'string') return chosen
    const { spent } = this.#run
    return this.#run.contextUnder(settingsAfter(spent.settings, { model: null }, false)).model.id
  }
}

/** The key of the wait, derived from the key of the retry that the wait replaces. */
function waitKeyOf({ retryKey }: WaitAfter): string {
  return `${retryKey}.service`
}

const recordedEnds: ReadonlySet<unknown> = new Set<ServiceWaitEnd>(['retried', 'model', 'stopped'])

function waitEndOf({ outcome, why }: WaitResult<unknown>): ServiceWaitEnd {
  if (outcome === 'aborted' || outcome === 'over') return outcome
  // It is a member of the set.
  return recordedEnds.has(why) ? (why as ServiceWaitEnd) : 'retried'
}
