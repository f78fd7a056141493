import type { SessionSnapshot } from '@halting/core/session'
import type { StepRecord } from '@halting/core/steps'
import type { FullStatus } from '../service/session-object.ts'
import type { ClusterClient, ClusterClientOptions } from './client.ts'
import { liveMessages } from './event-stream.ts'
import { revivedEvent, revivedSnapshot } from './revived.ts'
import type { Told } from './told.ts'

export interface FollowerOptions {
  readonly client: ClusterClient
  readonly sessionId: string
  readonly worker: NonNullable<ClusterClientOptions['worker']>
  readonly fetch: typeof fetch
  readonly told: Told
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
  readonly onTrouble: (error: unknown) => void
}

const shortestPauseMs = 25
const longestPauseMs = 2_000
/** While somebody works and tells nothing: another worker is about to take the session up. */
const longestPauseInWorkMs = 250

/**
 * Follows a session wherever it goes: reads live events of the worker that has it, and records of the object where none does.
 * F1: records are told in their order, each once. F2: what comes live of a worker is told after the records that the worker had when this came to it.
 */
export class Follower {
  readonly #options: FollowerOptions
  readonly #stopped = new AbortController()
  #position: number | undefined
  #pauseMs = shortestPauseMs
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
  poke(): void {
    this.#pauseMs = shortestPauseMs
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
        await this.#look()
      } catch (error) {
        if (!this.#isStopped) onTrouble(error)
        // Who waits for it learns by itself that nobody answers.
        this.#onBegun()
      }
      await this.#pause()
    }
  }

  async #look(): Promise<void> {
    const { client, sessionId, told, onStatus, onUnread, onLeft, onIdle } = this.#options
    const status = await client.status(sessionId)
    if (this.#isStopped) return
    onStatus(status)
    if (this.#position === undefined) {
      this.#position = status.records
      told.begin(status.runId ?? '')
    }
    this.#onBegun()
    await this.#catchUp(status.records)
    if (status.isWorking && status.live !== undefined && (await this.#read(status.live)))
      this.#pauseMs = shortestPauseMs
    else if (status.isWorking) await onUnread(status)
    if (status.isWorking) {
      this.#pauseMs = Math.min(this.#pauseMs, longestPauseInWorkMs)
      return
    }
    await onLeft()
    await this.#tellEnd()
    await onIdle()
  }

  /** Records that the object has, and nobody told. */
  async #catchUp(upTo: number): Promise<void> {
    const { client, sessionId } = this.#options
    // What a worker tells of may be on its way to the object.
    for (let left = 50; this.#at < upTo && left > 0 && !this.#isStopped; left--) {
      const first = this.#at
      for (const [index, record] of (await client.records(sessionId, first)).entries())
        await this.#take(first + index + 1, record)
      if (this.#at < upTo) await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }

  get #at(): number {
    return this.#position ?? 0
  }

  async #take(number: number, record: StepRecord): Promise<void> {
    if (number > this.#at + 1) await this.#catchUp(number - 1)
    if (number <= this.#at) return
    // The run before has its result before this one begins.
    if (record.type === 'start' && record.scope === '') await this.#tellEnd()
    this.#options.told.onRecord(record)
    this.#position = number
  }

  /** The result of a run that has ended on record is told by its worker, or is had from the object. */
  async #tellEnd(): Promise<void> {
    const { client, sessionId, told } = this.#options
    const { unended } = told
    if (unended === undefined) return
    const result = await client.resultOfRun(sessionId, unended.runId)
    if (result !== undefined) told.end(result)
  }

  /** Reads what a worker tells, until it tells no more. False where it tells nothing. */
  async #read(url: string): Promise<boolean> {
    const { sessionId, fetch, worker, onSnapshot, told } = this.#options
    const { token, reach = (same) => same } = worker
    const address = new URL(`/sessions/${encodeURIComponent(sessionId)}/events?since=${this.#at}`, reach(url))
    const response = await fetch(address, {
      signal: this.#stopped.signal,
      ...(token !== undefined && { headers: { authorization: `Bearer ${token}` } }),
    }).catch(() => undefined)
    if (response?.ok !== true) {
      await response?.body?.cancel()
      return false
    }
    told.cut()
    let hasTold = false
    for await (const message of liveMessages(response)) {
      if (this.#isStopped) break
      hasTold = true
      switch (message.type) {
        case 'hello':
          await this.#catchUp(message.records)
          break
        case 'record':
          await this.#take(message.number, message.record)
          break
        case 'event':
          told.onEvent(revivedEvent(message.event))
          break
        case 'snapshot':
          onSnapshot(revivedSnapshot(message.snapshot))
          break
        case 'over':
          return true
      }
    }
    return hasTold
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
    this.#pauseMs = Math.min(longestPauseMs, this.#pauseMs * 2)
  }
}
