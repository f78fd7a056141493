import { randomUUID } from 'node:crypto'
import { anySignal, messageOf } from '@halting/core/adapters'
import type { SessionSnapshot } from '@halting/core/session'
import type { StepRecord } from '@halting/core/steps'
import { maxWaitMs } from '../service/messages.ts'
import type { FullStatus } from '../service/full-status.ts'
import type { ClusterClient, ClusterClientOptions } from './client.ts'
import { reviveEvent, reviveSnapshot } from './revive.ts'
import type { SessionEventLog } from './session-event-log.ts'
import { createParser } from 'eventsource-parser'
import type { LiveMessage } from '../live/live-messages.ts'

/** What a person is told when nothing is known of a session. */
export function troubleText(trouble: ConnectionTrouble, isEngineUp: boolean): string {
  if (trouble.type === 'failed')
    return `Cannot follow the session: ${messageOf(trouble.error).replace(/\.$/, '')}. Nothing is lost. Retrying.`
  const seconds = Math.round(trouble.forMs / 1_000)
  return isEngineUp
    ? `No answer for ${seconds} s: the engine accepts requests, but no worker responds, or the engine cannot write because its disk is full. Nothing is lost. Waiting.`
    : `No answer for ${seconds} s: the engine does not respond. Nothing is lost. Waiting.`
}

/** The opposite. */
export const troubleOverText = 'The cluster responds again.'

/** Why nothing is known of the session at the moment. It is asked again. */
export type ConnectionTrouble =
  | { readonly type: 'failed'; readonly error: unknown }
  /** The call is not over: it still may be answered. */
  | { readonly type: 'silent'; readonly forMs: number }

export interface FollowerOptions {
  readonly client: ClusterClient
  readonly sessionId: string
  readonly worker: NonNullable<ClusterClientOptions['worker']>
  readonly fetch: typeof fetch
  readonly eventLog: SessionEventLog
  /** The number of records from which on they are told; those that are there when it begins are passed over when absent. */
  readonly since?: number | undefined
  readonly onStatus: (status: FullStatus) => void
  readonly onSnapshot: (snapshot: SessionSnapshot) => void
  /** Somebody works at the session and tells nothing here. */
  readonly onUnread: (status: FullStatus) => Promise<void>
  /** Nobody works at the session; how its last run ended was not told yet. */
  readonly onLeft: () => Promise<void>
  /** Nobody works at the session, and all that is on record was told. */
  readonly onIdle: () => Promise<void>
  /** The cluster does not answer. It is asked again. */
  readonly onTrouble: (trouble: ConnectionTrouble) => void
  /** A call that is not answered for so long after it should have been is trouble; 10 s. */
  readonly silentMs?: number
}

const defaultSilentMs = 10_000
/** A call is given up after so many times that. */
const maxSilencesPerCall = 6
/** Between two looks, however often something changes. */
const minPauseMs = 25
/** Between two looks while workers are of an older version, which wake nobody; and while the cluster does not answer. */
const maxPauseMs = 2_000
/** A worker that can be reached, and does not work at the session yet, is about to: so soon it is looked at again, then in twice the time. */
const firstWaitMs = 500
/** The first call after a change waits so long, the next one twice as long. */
const firstQuietMs = 5_000
/** A worker that does not accept a connection within this time cannot be reached from here. */
const connectTimeoutMs = 3_000
/** An address that led nowhere is tried again after so long: soon where the failure took no time, as of a worker that starts again. */
const retryAfterMs = { quick: 2_000, slow: 300_000 }
const quickFailureMs = 500
/** A worker sends something every 15 s: a connection on which nothing comes for more than twice as long is lost. */
const maxSilenceMs = 35_000

/** What came of reading live events: `away` where the worker does not work at the session, `unreachable` where it cannot be read from here. */
type ReadOutcome = 'read' | 'away' | 'unreachable'

/**
 * Follows a session wherever it goes: reads live events of the worker that has it, else waits for a change of the session by one long call after another.
 * F1: records are told in their order, each once. F2: what comes live of a worker is told after the records that the worker had when this came to it. F3: every state of
 * the session but those that follow each other at once is seen, whoever changes it, and whether live events can be read or not.
 */
export class Follower {
  readonly #options: FollowerOptions
  readonly #stopped = new AbortController()
  /** Of the calls of this follower: the engine keeps one of them. */
  readonly #name = randomUUID()
  #position: number | undefined
  #version: string | undefined
  #pauseMs = minPauseMs
  /** So often its worker was away, or lost, since the session changed. */
  #timesAway = 0
  /** So many calls in a row have waited for a change, and seen none. */
  #quietCalls = 0
  /** The worker whose address leads nowhere from here, and when it is tried again. */
  #unreachable: { readonly url: string; readonly untilMs: number } | undefined
  /** The address that was read last. */
  #lastReadUrl: string | undefined
  /** Ends what is waited for. */
  #wake: (() => void) | undefined
  readonly begun: Promise<void>
  #onBegun: () => void = () => {}

  constructor(options: FollowerOptions) {
    this.#options = options
    this.#position = options.since
    this.begun = new Promise((resolve) => {
      this.#onBegun = resolve
    })
    void this.#follow()
  }

  /** Something was asked of the session: it is looked at again at once. */
  checkNow(): void {
    this.#pauseMs = minPauseMs
    this.#version = undefined
    this.#wake?.()
  }

  stop(): void {
    this.#stopped.abort()
    this.#wake?.()
  }

  get #isStopped(): boolean {
    return this.#stopped.signal.aborted
  }

  async #follow(): Promise<void> {
    const { onTrouble } = this.#options
    while (!this.#isStopped) {
      try {
        const status = await this.#nextStatus()
        if (status !== undefined && !this.#isStopped) await this.#handleStatus(status)
      } catch (error) {
        this.#version = undefined
        if (!this.#isStopped) onTrouble({ type: 'failed', error })
        // Who waits for it learns by itself that nobody answers.
        this.#onBegun()
      }
      await this.#pause()
    }
  }

  /** The state of the session once it is another one than that which was seen last. Undefined where it has to be asked for anew: somebody poked, or the call was lost. */
  async #nextStatus(): Promise<FullStatus | undefined> {
    const { client, sessionId, onTrouble, silentMs = defaultSilentMs } = this.#options
    const since = this.#version
    const waitMs = since === undefined ? 0 : this.#waitMs()
    const call = new AbortController()
    const due = performance.now() + waitMs
    let silence = setTimeout(function look() {
      const forMs = performance.now() - due
      if (forMs >= silentMs * maxSilencesPerCall) return call.abort()
      onTrouble({ type: 'silent', forMs })
      silence = setTimeout(look, silentMs / 4)
    }, waitMs + silentMs)
    this.#wake = () => call.abort()
    try {
      const asked =
        since === undefined
          ? client.status(sessionId, { signal: call.signal })
          : client.changed(sessionId, { since, by: this.#name, waitMs, signal: call.signal })
      const status = await untilAborted(asked, call.signal)
      if (status !== undefined) this.#onStatusSeen(status, since)
      return status
    } catch (error) {
      // A long call may be lost with the worker that it waits at; whether there is trouble is known by asking at once.
      if (since === undefined) throw error
      this.#version = undefined
      return undefined
    } finally {
      clearTimeout(silence)
      this.#wake = undefined
    }
  }

  #onStatusSeen({ version }: FullStatus, before: string | undefined): void {
    if (version !== before) this.#timesAway = 0
    this.#quietCalls = version === before ? this.#quietCalls + 1 : 0
    if (version !== undefined) this.#pauseMs = minPauseMs
    this.#version = version
  }

  /** So long the next call may wait for a change. A call that waits at a worker which is lost says so only when its time is over: the first ones after a change are short. */
  #waitMs(): number {
    const ms = this.#timesAway === 0 ? firstQuietMs * 2 ** this.#quietCalls : firstWaitMs * 2 ** (this.#timesAway - 1)
    return Math.min(maxWaitMs, ms)
  }

  async #handleStatus(status: FullStatus): Promise<void> {
    const { eventLog, onStatus, onUnread, onLeft, onIdle } = this.#options
    onStatus(status)
    if (this.#position === undefined) {
      this.#position = status.records
      eventLog.begin(status.runId ?? '')
    }
    this.#onBegun()
    await this.#catchUp(status.records)
    if (status.isWorking) {
      const outcome = status.live === undefined ? 'unreachable' : await this.#readLive(status.live)
      if (outcome === 'read') this.#pauseMs = minPauseMs
      else await onUnread(status)
      // Who could be read before, and cannot be reached now, may be lost: what becomes of the session is asked for soon.
      const isAway =
        outcome === 'away' ||
        (outcome === 'unreachable' && status.live !== undefined && status.live === this.#lastReadUrl)
      this.#timesAway = isAway ? this.#timesAway + 1 : 0
      return
    }
    await onLeft()
    await this.#emitEnding()
    await onIdle()
  }

  /** Records that the object has, and nobody told. */
  async #catchUp(upTo: number): Promise<void> {
    const { client, sessionId } = this.#options
    // What a worker tells of may be on its way to the object.
    for (let left = 50; this.#recordCount < upTo && left > 0 && !this.#isStopped; left--) {
      const first = this.#recordCount
      for (const [index, record] of (await client.records(sessionId, first)).entries())
        await this.#emitRecord(first + index + 1, record)
      if (this.#recordCount < upTo) await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }

  get #recordCount(): number {
    return this.#position ?? 0
  }

  async #emitRecord(number: number, record: StepRecord): Promise<void> {
    if (number > this.#recordCount + 1) await this.#catchUp(number - 1)
    if (number <= this.#recordCount) return
    // The run before has its result before this one begins.
    if (record.type === 'start' && record.scope === '') await this.#emitEnding()
    this.#options.eventLog.onRecord(record)
    this.#position = number
  }

  /** The result of a run that has ended on record is told by its worker, or is had from the object. */
  async #emitEnding(): Promise<void> {
    const { client, sessionId, eventLog } = this.#options
    const { unreportedEnding: unended } = eventLog
    if (unended === undefined) return
    const result = await client.resultOfRun(sessionId, unended.runId)
    if (result !== undefined) eventLog.end(result)
  }

  /** Reads what a worker tells, until it tells no more. */
  async #readLive(url: string): Promise<ReadOutcome> {
    if (url === this.#unreachable?.url && performance.now() < this.#unreachable.untilMs) return 'unreachable'
    const { sessionId, fetch, worker } = this.#options
    const { token, reach = (same) => same } = worker
    const address = new URL(`/sessions/${encodeURIComponent(sessionId)}/events?since=${this.#recordCount}`, reach(url))
    const silence = new SilenceTimeout(this.#stopped.signal)
    silence.endAfter(connectTimeoutMs)
    const begun = performance.now()
    const response = await fetch(address, {
      signal: silence.signal,
      ...(token !== undefined && { headers: { authorization: `Bearer ${token}` } }),
    }).catch(() => undefined)
    try {
      if (response === undefined) {
        const now = performance.now()
        this.#unreachable = {
          url,
          untilMs: now + (now - begun > quickFailureMs ? retryAfterMs.slow : retryAfterMs.quick),
        }
        return 'unreachable'
      }
      if (!response.ok) return 'away'
      this.#lastReadUrl = url
      return await this.#readStream(response, silence)
    } finally {
      silence.end()
    }
  }

  async #readStream(response: Response, silence: SilenceTimeout): Promise<ReadOutcome> {
    const { onSnapshot, eventLog } = this.#options
    eventLog.onReconnect()
    let hasReceived = false
    for await (const message of readLiveMessages(response, () => silence.endAfter(maxSilenceMs))) {
      if (this.#isStopped) break
      hasReceived = true
      switch (message.type) {
        case 'hello':
          await this.#catchUp(message.records)
          break
        case 'record':
          await this.#emitRecord(message.number, message.record)
          break
        case 'event':
          eventLog.onEvent(reviveEvent(message.event))
          break
        case 'snapshot':
          onSnapshot(reviveSnapshot(message.snapshot))
          break
        case 'over':
          return 'read'
      }
    }
    // It was lost, and its worker may be: a call that waits for a change would say so late.
    this.#version = undefined
    return hasReceived ? 'read' : 'away'
  }

  async #pause(): Promise<void> {
    if (this.#isStopped) return
    let timer: NodeJS.Timeout | undefined
    await new Promise<void>((resolve) => {
      this.#wake = resolve
      timer = setTimeout(resolve, this.#pauseMs)
    })
    clearTimeout(timer)
    this.#wake = undefined
    this.#pauseMs = Math.min(maxPauseMs, this.#pauseMs * 2)
  }
}

/** Ends a connection on which nothing comes for too long. */
class SilenceTimeout {
  readonly #over = new AbortController()
  readonly signal: AbortSignal
  #timer: NodeJS.Timeout | undefined

  constructor(stopped: AbortSignal) {
    this.signal = anySignal([stopped, this.#over.signal])
  }

  endAfter(ms: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.end(), ms)
  }

  /** Nothing is read from it any more. */
  end(): void {
    clearTimeout(this.#timer)
    this.#over.abort()
  }
}

/** Undefined where it is aborted first. */
function untilAborted<T>(answer: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  const aborted = new Promise<undefined>((resolve) =>
    signal.addEventListener('abort', () => resolve(undefined), { once: true }),
  )
  return Promise.race([
    answer.catch((error: unknown) => (signal.aborted ? undefined : Promise.reject(error as Error))),
    aborted,
  ])
}

/** What a worker tells, as it comes; `onBytes` hears of whatever comes. Ends where the connection does; what it was cut for is nobody's affair: the journal is the truth. */
export async function* readLiveMessages(
  response: Response,
  onBytes: () => void = () => {},
): AsyncGenerator<LiveMessage, void, undefined> {
  if (response.body === null) return
  const completed: LiveMessage[] = []
  // A worker wrote it.
  const parser = createParser({ onEvent: ({ data }) => void completed.push(JSON.parse(data) as LiveMessage) })
  const decoder = new TextDecoder()
  try {
    onBytes()
    for await (const bytes of response.body) {
      onBytes()
      parser.feed(decoder.decode(bytes, { stream: true }))
      yield* completed.splice(0)
    }
  } catch {
    return
  }
}
