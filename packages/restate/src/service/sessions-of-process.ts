import { foldSession, splitRuns, recordedResult, type StepRecord } from '@halting/core/steps'
import { ConfigurationError, type SdkResult, type TranscriptEntry, type RunResult } from '@halting/core'
import type { AttemptContext, Work } from '../engine/attempt.ts'
import { LeaseDesks } from '../fleet/lease-desk.ts'
import { TenantLease } from '../fleet/tenant-lease.ts'
import type { Spent } from '@halting/core/adapters'
import type { CarriedState, CarriedRun } from './carried-run.ts'
import { engineClock } from '../http/engine-clock.ts'
import { sizeLimitWithoutStore } from './check-request.ts'
import { ClusterSession } from './cluster-session.ts'
import { Places } from '../worker/places.ts'
import { SessionLocks, type SessionLock } from './session-locks.ts'
import { SessionTurn } from './session-turn.ts'
import type { Opening } from './messages.ts'
import { sessionObject } from './names.ts'
import { sessionSpending } from './spending.ts'
import type { Tenancy } from './tenancy.ts'
import { encodeNote } from './notes.ts'
import { openOrRefuse, RefusedWork } from './refused-work.ts'
import type { SessionServiceOptions } from './session-options.ts'
import type { WorkRecord } from './work-record.ts'
import { SessionWork, type OpenRun } from './work.ts'
import type { SessionOfWorker, WorkerListener } from '../worker/worker-events.ts'

export interface PendingWork {
  readonly sessionId: string
  readonly opening: Opening
  readonly tenancy: Tenancy | undefined
  /** The part of its recorded spending that another session paid. */
  readonly inherited: Spent
  /** Why its requests are refused; undefined if they are not. */
  readonly refusal: string | undefined
  /** Number of its first request, which increases from turn to turn. */
  readonly turn: number
  /** The conversation of earlier invocations, and the run that one of them has left to this one. */
  readonly before: CarriedRun
  /** Facts about that run that its records do not contain. */
  readonly carried?: CarriedState | undefined
  readonly record: WorkRecord
  readonly attempt: AttemptContext
  /** Id of the invocation, by which the budget notifies it. */
  readonly invocation?: string
  /** The session is open in this process until `closed` settles. */
  readonly onOpen?: (closed: Promise<void>) => void
}

/** A session that arrives at this process. */
export interface ArrivingSession {
  readonly sessionId: string
  readonly tenant: string | undefined
  /** When the work arose, in milliseconds since 1970; undefined if unknown: then it counts as new. */
  readonly sinceMs: number | undefined
  /** Aborted when the engine continues it elsewhere. */
  readonly gone: AbortSignal
  /** Numbers of requests whose outcome is on record. */
  readonly settled: ReadonlySet<number>
}

function reasonLeft(departure: SessionServiceOptions['departure']): string {
  return departure?.soon.aborted === true
    ? 'this worker gives up its sessions'
    : 'the engine has ended the attempt and continues elsewhere, or here later'
}

/** The sessions that this process works at. */
export class SessionsOfProcess {
  readonly #options: SessionServiceOptions
  readonly #locks = new SessionLocks()
  readonly #desks = new LeaseDesks()
  readonly #places: Places

  constructor(options: SessionServiceOptions) {
    this.#options = options
    this.#places = options.places ?? new Places()
  }

  /** Enters the session in the queue for places. A previous attempt of it in this process leaves. */
  register({ sessionId, tenant, sinceMs, gone, settled }: ArrivingSession): SessionTurn {
    const entered = this.#locks.acquire(sessionId, gone)
    // Another worker's clock may be ahead: the session must not wait behind later ones.
    const sinceHere = Math.min(sinceMs ?? Infinity, engineClock.now())
    const ticket = this.#places.ask({ group: tenant ?? '', sinceMs: sinceHere })
    const { departure, onEvent: report } = this.#options
    const about = { session: sessionId, ...(tenant !== undefined && { tenant }) }
    if (!ticket.hasPlace) report?.({ type: 'session_waiting', ...about })
    const onLeft = (): void => {
      const hasNoPart = gone.aborted || departure?.soon.aborted === true
      const because = hasNoPart ? reasonLeft(departure) : 'another worker has a free place'
      report?.({ type: 'session_left', ...about, because })
    }
    return new SessionTurn(entered, ticket, { settled, gone, onLeft })
  }

  /** Begins the work. `turn` was granted; without one, the session waits only for a previous attempt in this process. */
  async begin(work: PendingWork, turn?: SessionTurn): Promise<Work> {
    const { sessionId, attempt: found } = work
    const { leaveBy, release } = await (turn?.begin() ?? this.#locks.acquire(sessionId, found.gone))
    const leave = (): void => {
      release()
      turn?.leave()
    }
    try {
      return await this.#open(work, { leaveBy, release: leave })
    } catch (error) {
      leave()
      throw error
    }
  }

  async #open(work: PendingWork, { leaveBy, release }: SessionLock): Promise<Work> {
    const { open, listener, departure, payloads, onEvent: report } = this.#options
    const { sessionId, opening, tenancy, refusal, before, carried, record, attempt: found, onOpen } = work
    const { log, gone, isResting } = found
    const records = [...before.open, ...found.records]
    const lease = await this.#leaseOf(work)
    const tenant = tenancy?.tenant
    const journal = new ClusterSession({
      sessionId,
      path: `restate:${sessionObject}/${sessionId}`,
      records: [...before.ended, ...records],
      log,
      lease,
    })
    if (refusal !== undefined && journal.open === undefined) {
      release()
      return new RefusedWork(refusal, { log, spent: null })
    }
    const opened = await openOrRefuse(open({ sessionId, opening, tenant, journal, gone, now: engineClock.now }))
    if (opened.kind === 'refused') {
      // An open run is not given up: the engine retries and reports why.
      if (journal.open !== undefined) throw opened.error
      release()
      return new RefusedWork(opened.error.message, { log, spent: journal.spent })
    }
    const { session } = opened
    const presence = new PresenceReporter(sessionId, tenant, report)
    const closed = new Promise<void>((resolve) => {
      session.listen((event) => {
        // If the run continues elsewhere, its failure here is not its ending.
        if (event.type === 'run_end' && !log.isBroken) presence.reportRunEnd(event.terminal)
        if (event.type !== 'closed') return
        // If the log is broken, the work is over here but not in the session.
        if (log.isBroken) presence.reportLeft(reasonLeft(departure))
        else presence.reportEnd()
        release()
        resolve()
      })
    })
    departure?.hold(closed)
    onOpen?.(closed)
    if (listener !== undefined) {
      listener.onOpen(sessionId, session)
      log.note(encodeNote({ type: 'at', url: listener.url }))
    }
    leaveBy(() => {
      if (isResting() && departure?.soon.aborted !== true) presence.reportRest()
      else presence.reportLeft(reasonLeft(departure))
      listener?.onLeave(sessionId, session)
      log.break()
      session.close().catch(() => {})
    })
    return new SessionWork({
      session,
      log,
      settled: record.settled,
      openRun: findOpenRun(records),
      onRecord: messageIdsIn(carried === undefined ? records : [...before.ended, ...records]),
      unreported: unreportedResults(sessionId, before.ended, records, record.reportedRuns, carried?.untold),
      onEvent(event) {
        // If the run continues elsewhere, its failure here is not an event of the session.
        if (!log.isBroken) listener?.onEvent(sessionId, event)
      },
      spent: () => journal.spent,
      onMoney: () => lease?.wakeWaiters(),
      ...(payloads === undefined && { size: sizeLimitWithoutStore }),
    })
  }

  async #leaseOf(work: PendingWork): Promise<TenantLease | undefined> {
    const { sessionId: session, tenancy, inherited, turn, before, attempt: found, invocation } = work
    if (tenancy === undefined) return undefined
    const { ingress, chunkUsd } = this.#options
    if (ingress === undefined)
      throw new ConfigurationError(
        `The session belongs to the tenant ${tenancy.tenant}, and this worker has no \`ingress\` to reach its budget.`,
      )
    const { tenant, began, isOpened } = tenancy
    const { records, log, gone } = found
    const committed = sessionSpending(foldSession(splitRuns([...before.ended, ...before.open, ...records])))
    const desk = this.#desks.of(ingress, tenant)
    return TenantLease.open({
      desk,
      session,
      began,
      turn,
      isOpened,
      invocation,
      inherited,
      committed,
      chunkUsd,
      log,
      gone,
    })
  }
}

function hasEnded(run: readonly StepRecord[]): boolean {
  return run.some((record) => record.type === 'end' && record.scope === '')
}

function runIdOf([first]: readonly StepRecord[]): string {
  return first?.type === 'start' ? first.start.run.runId : ''
}

/** The run that did not end, and the messages in it; undefined for none. */
export function findOpenRun(records: readonly StepRecord[]): OpenRun | undefined {
  const run = splitRuns(records).at(-1)
  const [first] = run ?? []
  if (run === undefined || first?.type !== 'start' || hasEnded(run)) return undefined
  // If records of past iterations are omitted, these still have the messages that were taken.
  return { runId: runIdOf(run), ids: [...messageIdsIn(run)], isWithoutMessage: messageIdsIn([first]).size === 0 }
}

/** Entries that a record adds to the transcript of its scope. Entries after the last iteration are in the end record. */
export function entriesAddedBy(record: StepRecord): readonly TranscriptEntry[] {
  if (record.type === 'start') return record.start.added
  if (record.type === 'lap') return record.lap.added
  return record.type === 'end' ? record.added : []
}

/** Ids of the messages in the runs of these records. */
export function messageIdsIn(records: readonly StepRecord[]): ReadonlySet<string> {
  const ids = records.flatMap((record) =>
    record.type === 'control'
      ? (record.control.messages ?? []).map(({ id }) => id)
      : entriesAddedBy(record).flatMap((entry) => (entry.kind === 'user' && entry.inboxId) || []),
  )
  return new Set(ids)
}

/** Results of ended runs that were not reported. `records` are those of this invocation; `before` is the conversation, in which only the runs of `unreported` lack a report. */
export function unreportedResults(
  sessionId: string,
  before: readonly StepRecord[],
  records: readonly StepRecord[],
  reported: ReadonlySet<string>,
  unreported: readonly string[] = [],
): readonly { readonly runId: string; readonly result: SdkResult }[] {
  const earlier = splitRuns(before)
  const runs = [...earlier, ...splitRuns(records)]
  return runs.flatMap((run, index) => {
    const runId = runIdOf(run)
    if (!hasEnded(run) || reported.has(runId) || (index < earlier.length && !unreported.includes(runId))) return []
    const result = recordedResult(sessionId, runs.slice(0, index + 1))
    return result === undefined ? [] : [{ runId, result }]
  })
}

/** Reports the start of a session's work in this process, and its end once, whichever way of ending is noticed first. */
export class PresenceReporter {
  readonly #about: SessionOfWorker
  readonly #report: WorkerListener | undefined
  #reason: string | undefined
  #isOver = false

  constructor(session: string, tenant: string | undefined, report: WorkerListener | undefined) {
    this.#about = { session, ...(tenant !== undefined && { tenant }) }
    this.#report = report
    report?.({ type: 'session_started', ...this.#about })
  }

  /** A run of the session ended here. */
  reportRunEnd({ reason, committedUsd, totalTokens, summary }: RunResult): void {
    if (this.#isOver) return
    this.#reason = reason
    const { requests, toolResults } = summary
    const figures = { usd: committedUsd, tokens: totalTokens, requests, toolCalls: toolResults }
    this.#report?.({ type: 'run_ended', ...this.#about, reason, ...figures })
  }

  reportEnd(): void {
    if (this.#isOver) return
    this.#isOver = true
    const reason = this.#reason
    this.#report?.({ type: 'session_ended', ...this.#about, ...(reason !== undefined && { reason }) })
  }

  reportRest(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#report?.({ type: 'session_resting', ...this.#about })
  }

  reportLeft(because: string): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#report?.({ type: 'session_left', ...this.#about, because })
  }
}
