import { anySignal, messageOf } from '@halting/core/adapters'
import { callHandler, type IngressOptions } from '../fleet/ingress.ts'
import { engineClock } from '../http/engine-clock.ts'
import { sessionObject } from '../service/names.ts'
import type { SessionStatus } from '../service/status.ts'
import type { EngineAdmin } from './engine-admin.ts'
import type { EngineSnapshot } from './engine-watch.ts'
import type { WorkerListener } from './worker-events.ts'

/** A session of an earlier version, as it was seen first. */
interface FirstSeen {
  readonly records: number
  readonly atMs: number
}

/** A session that has rested for a shorter time is never removed. */
export const shortestRetainMs = 3_600_000
/** A worker that has just begun may not be the one that stays. */
const firstAfterMs = 300_000
const betweenMs = 3_600_000
/** Where more is to go, it goes soon. */
const moreAfterMs = 60_000
const mostAtOnce = 500
/** One that is not gone after so long is left for the next time: something else goes on in it. */
const patienceOfOneMs = 30_000
/** So many in a row that cannot be removed are no affair of theirs. */
const mostFailures = 5
const pageSize = 500

/** What a retention asks of the engine. */
export interface RetentionPorts {
  /** Sessions without a run that goes on, behind this name, in the order of their names. */
  idle(after: string, limit: number): Promise<readonly { readonly session: string; readonly status: SessionStatus }[]>
  /** Removes a session that has so many records and in which nothing waits. False where it is another one now. */
  remove(session: string, records: number, signal: AbortSignal): Promise<boolean>
}

export function retentionPorts(admin: EngineAdmin, ingress: IngressOptions): RetentionPorts {
  return {
    async idle(after, limit) {
      const rows = await admin.idleSessions(after, limit)
      // `WorkRecord` wrote it.
      return rows.map(({ session, status }) => ({ session, status: JSON.parse(status) as SessionStatus }))
    },
    remove: async (session, records, signal) =>
      (await callHandler(
        ingress,
        `${sessionObject}/${encodeURIComponent(session)}/remove`,
        { ifRecords: records },
        // A call that still waits is not made a second time.
        { signal, idempotencyKey: `retain/${session}/${records}` },
      )) === true,
  }
}

export interface RetentionOptions {
  readonly ports: RetentionPorts
  /** So long a session rests before it goes. */
  readonly retainMs: number
  readonly report: WorkerListener
  /** Milliseconds since 1970, by the clock that sessions are dated with. Default: the engine's. */
  readonly now?: () => number
  /** How long one removal may take. Default: 30 seconds. */
  readonly patienceMs?: number
}

/**
 * Removes sessions that nobody has used for long: some minutes after a worker has begun, then once an hour, while new sessions go to it.
 * K1: a session goes only if no run goes on, nobody is asked, nothing waits, and it is as it was seen. K2: of a session of which nobody knows when it changed, the time begins when
 * this process sees it first. K3: so many go at once at most, and others soon after. K4: one that cannot be removed keeps no other.
 */
export class Retention {
  readonly #options: RetentionOptions
  readonly #now: () => number
  /** For what passes in this process alone. */
  readonly #steady: () => number
  /** Of sessions that earlier versions wrote: how many records there were, and when that was first seen. */
  #firstSeen = new Map<string, FirstSeen>()
  #nextAt: number
  #isBusy = false

  constructor(options: RetentionOptions) {
    this.#options = options
    this.#now = options.now ?? engineClock.now
    this.#steady = options.now ?? (() => performance.now())
    this.#nextAt = this.#steady() + firstAfterMs
  }

  /** Others are not kept waiting. */
  update({ isHere, resting }: Pick<EngineSnapshot, 'isHere' | 'resting'>, signal: AbortSignal): void {
    if (!isHere || this.#isBusy || this.#steady() < this.#nextAt) return
    this.#isBusy = true
    const stuck = new Set(resting.map(({ sessionId }) => sessionId))
    void this.#sweep(stuck, signal).finally(() => (this.#isBusy = false))
  }

  /** @param stuck Sessions whose work does not go on: a removal would wait behind it. */
  async #sweep(stuck: ReadonlySet<string>, signal: AbortSignal): Promise<void> {
    const { report } = this.#options
    this.#nextAt = this.#steady() + betweenMs
    let removed = 0
    let failed = 0
    let because = ''
    try {
      for (const { session, records } of await this.#due()) {
        if (signal.aborted || failed >= mostFailures) break
        if (stuck.has(session)) continue
        if (removed >= mostAtOnce) {
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

  /** Whether it is gone; why not, where that cannot be said. */
  async #remove(session: string, records: number, signal: AbortSignal): Promise<boolean | string> {
    const { ports, patienceMs = patienceOfOneMs } = this.#options
    const late = AbortSignal.timeout(patienceMs)
    try {
      return await ports.remove(session, records, anySignal([signal, late]))
    } catch (error) {
      return late.aborted ? `session ${session} did not answer; its work may be paused` : messageOf(error)
    }
  }

  /** What has rested for long enough. */
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
