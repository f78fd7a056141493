import { randomUUID } from 'node:crypto'
import { isJsonObject, sharedAbort } from '@halting/core/adapters'
import type { Json } from '@halting/core'
import { engineClock } from '../http/engine-clock.ts'
import type { DecodedBatch } from '../engine/batch.ts'
import type { IngressOptions } from '../fleet/ingress.ts'
import { callWithRetries, type RetryPolicy } from '../http/call-handler.ts'
import { decodeNote, encodeNote } from '../service/notes.ts'
import type { SessionServiceOptions } from '../service/session-options.ts'
import { LeftError } from '../worker/departure.ts'
import { iterationsOfProgress, type BeginAttempt, type AttemptVerdict, type AttemptRecord } from './deaths.ts'
import { Isolation, type IsolationSlot } from './isolation.ts'
import { attemptsObject, SetAsideError, setAsideReason } from './set-aside.ts'
import { attempt, type AttemptOptions, type AttemptTurn } from '../engine/attempt.ts'

/** Retries without end. If no worker has registered the object, attempts are not counted, so this policy does not wait for a worker. */
const retryPolicy: RetryPolicy = { maxTries: Infinity, firstWaitMs: 100, longestWaitMs: 5_000, waitsForWorkers: false }
/** Maximum time, in milliseconds, that the end of an attempt waits until it is recorded as orderly. */
const maxReportMs = 1_000

export interface TrackedWork {
  readonly sessionId: string
  readonly tenant: string | undefined
  /** Number of the first request of this turn. */
  readonly turn: number
  /** Aborted when the engine has given up this attempt. */
  readonly gone: AbortSignal
}

type Options = Pick<SessionServiceOptions, 'departure' | 'onEvent' | 'workerUrl'> & { readonly ingress: IngressOptions }

/** What this process records about its attempts, so that another process can find out which sessions it worked at when it died. */
export class ProcessAttempts {
  readonly options: Options
  readonly process: string = randomUUID()
  readonly isolation: Isolation = new Isolation()
  /** Sessions that were reported as set aside, with the attempt that caused it. */
  readonly #reported = new Map<string, string>()

  constructor(options: Options) {
    this.options = options
  }

  readonly newAttempt = (): AttemptRecord => ({
    attempt: randomUUID(),
    process: this.process,
    worker: this.options.workerUrl?.() ?? null,
    atMs: engineClock.now(),
  })

  /** Reports a session that is set aside, once for each time that it happens. */
  report({ sessionId, tenant }: TrackedWork, { deaths }: AttemptVerdict): void {
    const last = deaths.at(-1)?.attempt ?? ''
    if (this.#reported.get(sessionId) === last) return
    this.#reported.set(sessionId, last)
    this.options.onEvent?.({
      type: 'session_set_aside',
      session: sessionId,
      ...(tenant !== undefined && { tenant }),
      because: setAsideReason(deaths),
    })
  }
}

/**
 * Tracks one attempt to work at a session in this process. N1: the attempt is recorded before its work begins. The first
 * attempt of a turn is recorded with the first batch, which costs no call; every other one is recorded in the object of
 * the session's attempts. N2: while this process lives, every end of an attempt is reported, except an end at a rest,
 * which is already on record. N3: a session that is suspected of killing workers works alone in this process until it
 * has made progress.
 */
export class AttemptTracker {
  readonly #process: ProcessAttempts
  readonly #tracked: TrackedWork
  #attempt: AttemptRecord
  readonly #over = sharedAbort()
  #first: AttemptRecord | null = null
  #iterations = 0
  #isAtRest = false
  #isRecorded = false
  #hasAsked = false
  #slot: IsolationSlot | undefined
  #provenAtIteration = Infinity
  #holds: readonly Promise<unknown>[] = []
  #requestYield: () => void = () => {}
  #isYielding = false

  constructor(process: ProcessAttempts, work: TrackedWork) {
    const { departure } = process.options
    this.#process = process
    this.#tracked = work
    this.#attempt = process.newAttempt()
    work.gone.addEventListener('abort', () => void this.#end(!this.#isAtRest), { signal: this.#over.signal })
    // From here on, this process is ended on purpose.
    departure?.soon.addEventListener('abort', () => void this.#excuse(), { signal: this.#over.signal })
  }

  /** Sets the function that makes the attempt release its work and start the work again. */
  onYieldRequest(requestYield: () => void): void {
    this.#requestYield = requestYield
  }

  /** Whether the attempt gives up its slot at a rest, because a session that must be alone blocks all others. */
  get leavesAtRest(): boolean {
    return this.#slot?.isAlone === true
  }

  /** The note for the first batch of a turn; undefined if the work cannot begin at once. */
  firstNote(): Json | undefined {
    const place = this.#process.isolation.tryEnter()
    if (place === undefined) return undefined
    this.#takeSlot(place, this.#tracked.gone)
    this.#isRecorded = true
    return encodeNote({ type: 'attempt', ...this.#attempt })
  }

  onBatch({ records, notes = [], restMs }: Pick<DecodedBatch, 'records' | 'notes' | 'restMs'>): void {
    for (const note of notes.map(decodeNote))
      if (note.type === 'attempt' && note.attempt !== this.#attempt.attempt) {
        const { type: _, ...first } = note
        this.#first = first
      }
    this.#iterations += records.filter((record) => record.type === 'lap' && record.lap.scope === '').length
    this.#isAtRest = restMs !== undefined
    if (this.#iterations < this.#provenAtIteration) return
    this.#provenAtIteration = Infinity
    void this.#prove()
  }

  /**
   * Waits until the work may begin here and this is stored. Rejects when `gone` is aborted.
   * @throws SetAsideError
   */
  async begin(gone: AbortSignal): Promise<void> {
    gone.addEventListener('abort', () => this.#onReleased())
    // The attempt is already recorded: it was released at a rest, or this is its first batch.
    if (!this.#isRecorded) await this.#enter(gone)
    else if (this.#slot === undefined) this.#takeSlot(await this.#process.isolation.enter(gone), gone)
    const place = this.#slot
    if (place === undefined) return
    const requestYield = (): void => {
      this.#isYielding = true
      this.#requestYield()
    }
    if (place.yieldRequested.aborted) requestYield()
    else place.yieldRequested.addEventListener('abort', requestYield)
  }

  async #enter(gone: AbortSignal): Promise<void> {
    const { isolation, newAttempt } = this.#process
    this.#attempt = newAttempt()
    let place = this.#takeSlot(await isolation.enter(gone), gone)
    let verdict = await this.#ask(false, gone)
    if (verdict?.type === 'alone') {
      place.leave()
      place = this.#takeSlot(await isolation.enterAlone(gone), gone)
      verdict = await this.#ask(true, gone)
    }
    if (verdict?.type === 'set_aside') {
      this.#leaveSlot()
      this.#process.report(this.#tracked, verdict)
      throw new SetAsideError(this.#tracked.sessionId, verdict.deaths)
    }
    this.#isRecorded = true
    if (!place.isAlone) return
    const last = verdict?.deaths.at(-1)
    if (last === undefined || verdict?.type !== 'go') return place.share()
    // The attempt requests permission again when it returns from a rest.
    this.#isRecorded = false
    this.#provenAtIteration = last.laps + iterationsOfProgress
    const timer = setTimeout(() => void this.#accompany(place), verdict.aloneMs)
    timer.unref()
    gone.addEventListener('abort', () => clearTimeout(timer))
  }

  /** If the attempt is already over, leaves the slot at once, because no other code would. */
  #takeSlot(place: IsolationSlot, gone: AbortSignal): IsolationSlot {
    if (gone.aborted || this.#over.signal.aborted) {
      place.leave()
      throw new LeftError()
    }
    this.#slot = place
    return place
  }

  /**
   * Called when the attempt released its work but stays alive. The attempt will start the work again, and until its turn
   * it does not work at the session.
   */
  #onReleased(): void {
    this.#leaveSlot()
    if (!this.#isYielding) return
    this.#isYielding = false
    void this.#excuse()
    this.#isRecorded = false
  }

  /** Holds the slot until this settles: the session may still be open in this process. */
  holdUntil(over: Promise<unknown>): void {
    this.#holds = [...this.#holds, over.catch(() => undefined)]
  }

  /** The attempt and its turn are over. */
  done(): void {
    void this.#end(false)
  }

  /** Called when the attempt is over here, before the engine is notified. */
  failed(): Promise<void> {
    return this.#end(true)
  }

  #leaveSlot(): void {
    const place = this.#slot
    this.#slot = undefined
    if (place !== undefined) void Promise.all(this.#holds).then(() => place.leave())
  }

  async #end(mustReport: boolean): Promise<void> {
    if (this.#over.signal.aborted) return
    this.#over.abort()
    this.#leaveSlot()
    if (!mustReport) return
    let timer: NodeJS.Timeout | undefined
    const enough = new Promise<void>((resolve) => (timer = setTimeout(resolve, maxReportMs)))
    await Promise.race([this.#excuse(), enough])
    clearTimeout(timer)
  }

  async #excuse(): Promise<void> {
    if (this.#isRecorded || this.#hasAsked) await this.#call('excuse')
  }

  async #prove(): Promise<void> {
    await this.#call('prove')
    this.#isRecorded = true
    this.#slot?.share()
  }

  /** The activity of the session is unknown, so other sessions do not wait for it forever. */
  async #accompany(place: IsolationSlot): Promise<void> {
    if ((await this.#call('accompany')) === true) place.share()
  }

  async #ask(isAlone: boolean, signal: AbortSignal): Promise<AttemptVerdict | undefined> {
    const { turn } = this.#tracked
    const request: BeginAttempt = {
      turn,
      attempt: this.#attempt,
      laps: this.#iterations,
      isAtRest: this.#isAtRest,
      first: this.#first,
      isAlone,
    }
    this.#hasAsked = true
    const verdict = await this.#call('begin', request, signal)
    // This cast is safe: the object returns this type.
    return isJsonObject(verdict) ? (verdict as unknown as AttemptVerdict) : undefined
  }

  /** Undefined if the engine refuses: then attempts are not counted. Rejects when the signal is aborted. */
  async #call(handler: string, input?: Json, signal?: AbortSignal): Promise<Json | undefined> {
    const { url, token, fetch: ask = fetch } = this.#process.options.ingress
    const { turn, sessionId } = this.#tracked
    const { attempt } = this.#attempt
    const path = `${attemptsObject}/${encodeURIComponent(sessionId)}/${handler}`
    // A call whose answer was lost must not count twice.
    const headers = { 'idempotency-key': randomUUID() }
    const outcome = await callWithRetries({ url, token, fetch: ask, headers }, path, input ?? { turn, attempt }, {
      signal,
      patience: retryPolicy,
    })
    signal?.throwIfAborted()
    return outcome.type === 'answer' ? outcome.value : undefined
  }
}

/** `holdUntil`: the session is open in this process until that settles. */
type BuildOptions<Turn extends AttemptTurn> = (holdUntil: (over: Promise<unknown>) => void) => AttemptOptions<Turn>
type RunAttempt = <Turn extends AttemptTurn>(
  work: Omit<TrackedWork, 'gone'>,
  buildOptions: BuildOptions<Turn>,
) => Promise<Json>

/** Runs attempts in this process and records them, so that other processes learn of attempts that kill it. Records nothing if there is no way to the engine. */
export function trackedAttempts({ ingress, ...options }: SessionServiceOptions): RunAttempt {
  if (ingress === undefined) return (_, buildOptions) => attempt(buildOptions(() => {}))
  const process = new ProcessAttempts({ ...options, ingress })
  return async (work, buildOptions) => {
    const input = buildOptions((over) => tracker.holdUntil(over))
    const tracker = new AttemptTracker(process, { ...work, gone: input.engine.gone })
    try {
      const end = await attempt(withTracking(tracker, input))
      tracker.done()
      return end
    } catch (error) {
      await tracker.failed()
      throw error
    }
  }
}

function withTracking<Turn extends AttemptTurn>(
  tracker: AttemptTracker,
  options: AttemptOptions<Turn>,
): AttemptOptions<Turn> {
  const { begin, onBatch } = options
  return {
    ...options,
    firstNote: () => tracker.firstNote(),
    begin: async (found, turn) => {
      await tracker.begin(found.gone)
      return begin(found, turn)
    },
    onBatch: (batch) => {
      tracker.onBatch(batch)
      onBatch?.(batch)
    },
    onYieldRequest: (requestYield) => tracker.onYieldRequest(requestYield),
    leavesAtRest: () => tracker.leavesAtRest,
  }
}
