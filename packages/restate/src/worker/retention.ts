import { anySignal, messageOf } from '@halting/core/adapters'
import { callHandler, type IngressOptions } from '../fleet/ingress.ts'
import { engineClock } from '../http/engine-clock.ts'
import { sessionObject } from '../service/names.ts'
import type { SessionStatus } from '../service/status.ts'
import type { EngineAdmin } from './engine-admin.ts'
import type { EngineSnapshot } from './engine-watch.ts'
import type { WorkerListener } from './worker-events.ts'

/** A session of an earlier version, as first seen. */
interface FirstSeen {
  readonly records: number
  readonly atMs: number
}

/** Minimum of `retainMs`. */
export const minRetainMs = 3_600_000
/** Delay before the first round, in milliseconds: a worker that has just started may soon be replaced. */
const firstAfterMs = 300_000
const betweenMs = 3_600_000
/** If more is to be removed, the next round follows soon. */
const moreAfterMs = 60_000
const maxRemovals = 500
/** Time limit of a removal, in milliseconds. A removal that takes longer is left for the next round: the session may be busy. */
const removalTimeoutMs = 30_000
/** After this many failures, the cause is probably not the sessions. */
const maxFailures = 5
const pageSize = 500

/** What a retention needs of the engine. */
export interface RetentionPorts {
  /** Sessions without a current run, ordered by id, after this one. */
  idle(after: string, limit: number): Promise<readonly { readonly session: string; readonly status: SessionStatus }[]>
  /** Removes a session that has this many records and in which nothing waits. Returns false if it has changed. */
  remove(session: string, records: number, signal: AbortSignal): Promise<boolean>
}

export function retentionPorts(admin: EngineAdmin, ingress: IngressOptions): RetentionPorts {
  return {
    async idle(after, limit) {
      const rows = await admin.idleSessions(after, limit)
      // This cast is safe: `WorkRecord` wrote the value.
      return rows.map(({ session, status }) => ({ session, status: JSON.parse(status) as SessionStatus }))
    },
    remove: async (session, records, signal) =>
      (await callHandler(
        ingress,
        `${sessionObject}/${encodeURIComponent(session)}/remove`,
        { ifRecords: records },
        // With the key, a call that still waits is not made twice.
        { signal, idempotencyKey: `retain/${session}/${records}` },
      )) === true,
  }
}

export interface RetentionOptions {
  readonly ports: RetentionPorts
  /** How long a session must rest before it is removed, in milliseconds. */
  readonly retainMs: number
  readonly report: WorkerListener
  /** Milliseconds since 1970, by the clock that dates sessions. Default: the engine's. */
  readonly now?: () => number
  /** How long one removal may take. Default: 30 seconds. */
  readonly patienceMs?: number
}

/**
 * Removes sessions that have not been used for long: first some minutes after a worker has started, then once an hour, while new sessions go to it.
 * K1: a session is removed only if no run is running, no question is open, nothing waits, and it has not changed.
 * K2: if it is unknown when a session changed, the time begins when this process first sees it.
 * K3: the number of removals at once is limited; the rest follow soon.
 * K4: a session that cannot be removed does not block others.
 */
export class Retention {
  readonly #options: RetentionOptions
  readonly #now: () => number
  /** Monotonic clock for durations within this process. */
  readonly #steady: () => number
  /** Sessions that earlier versions wrote: how many records they had, and when that was first seen. */
  #firstSeen = new Map<string, FirstSeen>()
  #nextAt: number
  #isBusy = false

  constructor(options: RetentionOptions) {
    this.#options = options
    this.#now = options.now ?? engineClock.now
    this.#steady = options.now ?? (() => performance.now())
    this.#nextAt = this.#steady() + firstAfterMs
  }

  /** Starts a round if one is due, without waiting for it. */
  update({ isHere, resting }: Pick<EngineSnapshot, 'isHere' | 'resting'>, signal: AbortSignal): void {
    if (!isHere || this.#isBusy || this.#steady() < this.#nextAt) return
    this.#isBusy = true
    const stuck = new Set(resting.map(({ sessionId }) => sessionId))
    void this.#sweep(stuck, signal).finally(() => (this.#isBusy = false))
  }

  /** @param stuck Sessions whose work has stalled: a removal would wait behind it. */
  async #sweep(stuck: ReadonlySet<string>, signal: AbortSignal): Promise<void> {
    const { report } = this.#options
    this.#nextAt = this.#steady() + betweenMs
    let removed = 0
    let failed = 0
    let because = ''
    try {
      for (const { session, records } of await this.#due()) {
        if (signal.aborted || failed >= maxFailures) break
        if (stuck.has(session)) continue
        if (removed >= maxRemovals) {
          this.#nextAt = this.#steady() + moreAfterMs
          break
        }
        const outcome = await this.#remove(session, records, signal)
        if (typeof outcome === 'string') {
          failed++
          because ||= outcome
        } else if (outcome) removed++
      }
    } catch (error) {
      because = messageOf(error)
    }
    if (because !== '' && !signal.aborted)
      report({ type: 'trouble', level: 'warn', message: `Old sessions could not be removed: ${because}` })
    if (removed > 0) report({ type: 'sessions_removed', count: removed })
  }

  /** Whether the session was removed; an error message if that is unknown. */
  async #remove(session: string, records: number, signal: AbortSignal): Promise<boolean | string> {
    const { ports, patienceMs = removalTimeoutMs } = this.#options
    const late = AbortSignal.timeout(patienceMs)
    try {
      return await ports.remove(session, records, anySignal([signal, late]))
    } catch (error) {
      return late.aborted ? `session ${session} did not answer; its work may be paused` : messageOf(error)
    }
  }

  /** Sessions that have rested for long enough. */
  async #due(): Promise<readonly { readonly session: string; readonly records: number }[]> {
    const before = this.#now() - this.#options.retainMs
    const seen = new Map<string, FirstSeen>()
    const due: { readonly session: string; readonly records: number }[] = []
    for (let after = ''; ;) {
      const page = await this.#options.ports.idle(after, pageSize)
      for (const { session, status } of page) {
        const { records, questions, state, changedMs } = status
        if (state !== 'idle' || questions.length > 0) continue
        const known = this.#firstSeen.get(session)
        const first = known?.records === records ? known : { records, atMs: this.#now() }
        if (changedMs === undefined) seen.set(session, first)
        if ((changedMs ?? first.atMs) <= before) due.push({ session, records })
      }
      const last = page.at(-1)
      if (last === undefined || page.length < pageSize) break
      after = last.session
    }
    this.#firstSeen = seen
    return due
  }
}
