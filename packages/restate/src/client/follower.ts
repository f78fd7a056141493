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

/** Message for people while the state of a session is unknown. */
export function troubleText(trouble: ConnectionTrouble, isEngineUp: boolean): string {
  if (trouble.type === 'failed')
    return `Cannot follow the session: ${messageOf(trouble.error).replace(/\.$/, '')}. Nothing is lost. Retrying.`
  const seconds = Math.round(trouble.forMs / 1_000)
  return isEngineUp
    ? `No answer for ${seconds} s: the engine accepts requests, but no worker responds, or the engine cannot write because its disk is full. Nothing is lost. Waiting.`
    : `No answer for ${seconds} s: the engine does not respond. Nothing is lost. Waiting.`
}

/** Message for people when the cluster responds again. */
export const troubleOverText = 'The cluster responds again.'

/** Why the state of the session is currently unknown. The follower continues to request it. */
export type ConnectionTrouble =
  | { readonly type: 'failed'; readonly error: unknown }
  /** The call is still open and may yet be answered. */
  | { readonly type: 'silent'; readonly forMs: number }

export interface FollowerOptions {
  readonly client: ClusterClient
  readonly sessionId: string
  readonly worker: NonNullable<ClusterClientOptions['worker']>
  readonly fetch: typeof fetch
  readonly eventLog: SessionEventLog
  /** Number of the first record that is emitted. Default: records that exist at the beginning are skipped. */
  readonly since?: number | undefined
  readonly onStatus: (status: FullStatus) => void
  readonly onSnapshot: (snapshot: SessionSnapshot) => void
  /** Called when a worker is at work whose live events cannot be read from here. */
  readonly onUnread: (status: FullStatus) => Promise<void>
  /** Called when no worker is at work and the ending of the last run has not been emitted yet. */
  readonly onLeft: () => Promise<void>
  /** Called when no worker is at work and everything on record has been emitted. */
  readonly onIdle: () => Promise<void>
  /** Called when the cluster does not answer. The follower continues its requests. */
  readonly onTrouble: (trouble: ConnectionTrouble) => void
  /** How long a call may be overdue before it is reported as trouble, in milliseconds. Default: 10 s. */
  readonly silentMs?: number
}

const defaultSilentMs = 10_000
/** A call is abandoned after this many silent periods. */
const maxSilencesPerCall = 6
/** Pause between two status requests, however often the session changes. */
const minPauseMs = 25
/** Longest pause: for workers of older versions, which do not wake callers, and while the cluster does not answer. */
const maxPauseMs = 2_000
/** First wait, in milliseconds, for a worker that is reachable but not yet at work; doubled each time. */
const firstWaitMs = 500
/** Wait of the first long poll after a change, doubled each time. */
const firstQuietMs = 5_000
/** Time in milliseconds after which a worker that has not accepted a connection counts as unreachable from here. */
const connectTimeoutMs = 3_000
/** When an unreachable address is tried again: soon if it failed fast, as when a worker restarts. */
const retryAfterMs = { quick: 2_000, slow: 300_000 }
const quickFailureMs = 500
/** Time in milliseconds after which a silent connection counts as lost. A worker sends something every 15 s. */
const maxSilenceMs = 35_000

/** Outcome of reading live events. `away`: the worker is not at work at the session. `unreachable`: it cannot be read from here. */
type ReadOutcome = 'read' | 'away' | 'unreachable'

/**
 * Follows a session across workers: reads live events of the worker that has it, and otherwise waits for changes by long
 * polls. F1: records are emitted in order, each once. F2: live events of a worker are emitted after the records that the
 * worker had when this client connected. F3: every state of the session is detected, except states that follow each
 * other immediately, regardless of who changes the session and whether or not live events are readable.
 */
export class Follower {
  readonly #options: FollowerOptions
  readonly #stopped = new AbortController()
  /** Name of this follower's calls: the engine retains only the newest call of a name. */
  readonly #name = randomUUID()
  #position: number | undefined
  #version: string | undefined
  #pauseMs = minPauseMs
  /** How often the worker was away or lost since the session changed. */
  #timesAway = 0
  /** Number of consecutive long polls that saw no change. */
  #quietCalls = 0
  /** A worker whose address is unreachable from here, and when to try it again. */
  #unreachable: { readonly url: string; readonly untilMs: number } | undefined
  /** The address that was read last. */
  #lastReadUrl: string | undefined
  /** Ends the current wait. */
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

  /** Checks the status at once, because a request was sent to the session. */
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
        // Callers that wait for the beginning then detect themselves that the cluster does not answer.
        this.#onBegun()
      }
      await this.#pause()
    }
  }

  /** Returns the next status that differs from the last one. Undefined if the status must be requested anew: `checkNow` was called, or the call was lost. */
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
      // A long poll may be lost with its worker. A direct request shows whether the cluster itself is in trouble.
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

  /** How long the next long poll may wait. A call to a lost worker fails only after its timeout, so the first calls after a change are short. */
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
      // A worker that was readable before and is unreachable now may be lost, so the next check is soon.
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

  /** Emits records that the object has and that were not emitted yet. */
  async #catchUp(upTo: number): Promise<void> {
    const { client, sessionId } = this.#options
    // Records that a worker announces may still be on their way to the object.
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
    // The result of the previous run is emitted before the next run begins.
    if (record.type === 'start' && record.scope === '') await this.#emitEnding()
    this.#options.eventLog.onRecord(record)
    this.#position = number
  }

  /** Emits the result of a run that ended on record, unless its worker has reported it. */
  async #emitEnding(): Promise<void> {
    const { client, sessionId, eventLog } = this.#options
    const { unreportedEnding: unended } = eventLog
    if (unended === undefined) return
    const result = await client.resultOfRun(sessionId, unended.runId)
    if (result !== undefined) eventLog.end(result)
  }

  /** Reads the live events of a worker until its stream ends. */
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
    // The connection was lost, and its worker may be lost, too. A long poll would notice that late.
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

/** Ends a connection that stays silent for too long. */
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

  /** Stops reading from the connection. */
  end(): void {
    clearTimeout(this.#timer)
    this.#over.abort()
  }
}

/** Undefined if it is aborted first. */
function untilAborted<T>(answer: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  const aborted = new Promise<undefined>((resolve) =>
    signal.addEventListener('abort', () => resolve(undefined), { once: true }),
  )
  return Promise.race([
    answer.catch((error: unknown) => (signal.aborted ? undefined : Promise.reject(error as Error))),
    aborted,
  ])
}

/** Yields the live messages of a worker; `onBytes` is called for any received bytes. Ends with the connection, whatever the reason: the journal is authoritative. */
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
