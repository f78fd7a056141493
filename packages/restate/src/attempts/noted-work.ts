import { randomUUID } from 'node:crypto'
import { isJsonObject, sharedAbort } from '@halting/core/adapters'
import type { Json } from '@halting/core'
import { engineClock } from '../http/engine-clock.ts'
import type { ReadBatch } from '../engine/batch.ts'
import type { IngressOptions } from '../fleet/ingress.ts'
import { callHandlerOf, type Patience } from '../http/call-handler.ts'
import { readNote, writtenNote } from '../service/notes.ts'
import type { SessionServiceOptions } from '../service/session-options.ts'
import { LeftError } from '../worker/departure.ts'
import { lapsOfProgress, type BeginAttempt, type Begun, type NotedAttempt } from './deaths.ts'
import { Isolation, type Place } from './isolation.ts'
import { attemptsObject, SetAsideError, whySetAside } from './set-aside.ts'
import { attempt, type AttemptOptions, type AttemptTurn } from '../engine/attempt.ts'

/** Without an end. Where no worker has told the engine of the object, nobody keeps count: that is not waited for. */
const patience: Patience = { mostTries: Infinity, firstWaitMs: 100, longestWaitMs: 5_000, waitsForWorkers: false }
/** So long the end of an attempt waits until it is known to be in order. */
const mostFarewellMs = 1_000

export interface WorkToNote {
  readonly sessionId: string
  readonly tenant: string | undefined
  /** The number of the first request of this turn. */
  readonly turn: number
  /** Aborted when the engine has no part in the attempt any more. */
  readonly gone: AbortSignal
}

type Options = Pick<SessionServiceOptions, 'departure' | 'onEvent' | 'workerUrl'> & { readonly ingress: IngressOptions }

/** What this process tells of its attempts, so that another one knows which sessions it worked at when it ended. */
export class NotedWorkOfProcess {
  readonly options: Options
  readonly process: string = randomUUID()
  readonly isolation: Isolation = new Isolation()
  /** Sessions that were reported as set aside, by the attempt that did it. */
  readonly #reported = new Map<string, string>()

  constructor(options: Options) {
    this.options = options
  }

  readonly newAttempt = (): NotedAttempt => ({
    attempt: randomUUID(),
    process: this.process,
    worker: this.options.workerUrl?.() ?? null,
    atMs: engineClock.now(),
  })

  /** Once for each time that it happens. */
  report({ sessionId, tenant }: WorkToNote, { deaths }: Begun): void {
    const last = deaths.at(-1)?.attempt ?? ''
    if (this.#reported.get(sessionId) === last) return
    this.#reported.set(sessionId, last)
    this.options.onEvent?.({
      type: 'session_set_aside',
      session: sessionId,
      ...(tenant !== undefined && { tenant }),
      because: whySetAside(deaths),
    })
  }
}

/**
 * One attempt at the work of a session in this process. N1: before the work begins it is on record that this process is at it: of the first attempt of a turn with the first batch, which costs
 * no call; of every other one with the object of the session's attempts. N2: however the attempt ends while this process lives, that is told, but at a rest, which is on record. N3: a session
 * that may be what ends workers works alone in this process until it made progress.
 */
export class NotedWork {
  readonly #process: NotedWorkOfProcess
  readonly #work: WorkToNote
  #attempt: NotedAttempt
  readonly #over = sharedAbort()
  #first: NotedAttempt | null = null
  #laps = 0
  #isAtRest = false
  #isNoted = false
  #hasAsked = false
  #place: Place | undefined
  #provenAt = Infinity
  #held: readonly Promise<unknown>[] = []
  #makeWay: () => void = () => {}
  #isMakingWay = false

  constructor(process: NotedWorkOfProcess, work: WorkToNote) {
    const { departure } = process.options
    this.#process = process
    this.#work = work
    this.#attempt = process.newAttempt()
    work.gone.addEventListener('abort', () => void this.#end(!this.#isAtRest), { signal: this.#over.signal })
    // Whoever ends this process from here on does so on purpose.
    departure?.soon.addEventListener('abort', () => void this.#excuse(), { signal: this.#over.signal })
  }

  /** Given what has the attempt let go of its work, to begin it anew. */
  onMakeWay(makeWay: () => void): void {
    this.#makeWay = makeWay
  }

  /** At a rest it gives its place away: one that has to be alone keeps others waiting. */
  get leavesAtRest(): boolean {
    return this.#place?.isAlone === true
  }

  /** What the first batch of a turn tells; undefined where the work cannot begin at once. */
  firstNote(): Json | undefined {
    const place = this.#process.isolation.tryEnter()
    if (place === undefined) return undefined
    this.#occupy(place, this.#work.gone)
    this.#isNoted = true
    return writtenNote({ type: 'attempt', ...this.#attempt })
  }

  onBatch({ records, notes = [], restMs }: Pick<ReadBatch, 'records' | 'notes' | 'restMs'>): void {
    for (const note of notes.map(readNote))
      if (note.type === 'attempt' && note.attempt !== this.#attempt.attempt) {
        const { type: _, ...first } = note
        this.#first = first
      }
    this.#laps += records.filter((record) => record.type === 'lap' && record.lap.scope === '').length
    this.#isAtRest = restMs !== undefined
    if (this.#laps < this.#provenAt) return
    this.#provenAt = Infinity
    void this.#prove()
  }

  /**
   * Waits until the work may begin here, and that is stored. Rejects when `gone` is aborted.
   * @throws SetAsideError
   */
  async begin(gone: AbortSignal): Promise<void> {
    gone.addEventListener('abort', () => this.#letGo())
    // It is known to be at work here already: it was let go of at a rest, or this is its first batch.
    if (!this.#isNoted) await this.#enter(gone)
    else if (this.#place === undefined) this.#occupy(await this.#process.isolation.enter(gone), gone)
    const place = this.#place
    if (place === undefined) return
    const makeWay = (): void => {
      this.#isMakingWay = true
      this.#makeWay()
    }
    if (place.makeWay.aborted) makeWay()
    else place.makeWay.addEventListener('abort', makeWay)
  }

  async #enter(gone: AbortSignal): Promise<void> {
    const { isolation, newAttempt } = this.#process
    this.#attempt = newAttempt()
    let place = this.#occupy(await isolation.enter(gone), gone)
    let begun = await this.#ask(false, gone)
    if (begun?.type === 'alone') {
      place.leave()
      place = this.#occupy(await isolation.enterAlone(gone), gone)
      begun = await this.#ask(true, gone)
    }
    if (begun?.type === 'set_aside') {
      this.#leave()
      this.#process.report(this.#work, begun)
      throw new SetAsideError(this.#work.sessionId, begun.deaths)
    }
    this.#isNoted = true
    if (!place.isAlone) return
    const last = begun?.deaths.at(-1)
    if (last === undefined || begun?.type !== 'go') return place.share()
    // It is asked again when it comes back from a rest.
    this.#isNoted = false
    this.#provenAt = last.laps + lapsOfProgress
    const timer = setTimeout(() => void this.#accompany(place), begun.aloneMs)
    timer.unref()
    gone.addEventListener('abort', () => clearTimeout(timer))
  }

  /** A place that comes when the attempt is over already is left at once: nobody else would. */
  #occupy(place: Place, gone: AbortSignal): Place {
    if (gone.aborted || this.#over.signal.aborted) {
      place.leave()
      throw new LeftError()
    }
    this.#place = place
    return place
  }

  /** The attempt goes on, and begins the work anew. What waits for its turn is not at work. */
  #letGo(): void {
    this.#leave()
    if (!this.#isMakingWay) return
    this.#isMakingWay = false
    void this.#excuse()
    this.#isNoted = false
  }

  /** The place is kept until this is over: something of the session may still go on here. */
  holdUntil(over: Promise<unknown>): void {
    this.#held = [...this.#held, over.catch(() => undefined)]
  }

  /** The attempt is over, and so is the turn. */
  done(): void {
    void this.#end(false)
  }

  /** The attempt is over here, and the engine is about to be told so. */
  failed(): Promise<void> {
    return this.#end(true)
  }

  #leave(): void {
    const place = this.#place
    this.#place = undefined
    if (place !== undefined) void Promise.all(this.#held).then(() => place.leave())
  }

  async #end(isToBeTold: boolean): Promise<void> {
    if (this.#over.signal.aborted) return
    this.#over.abort()
    this.#leave()
    if (!isToBeTold) return
    let timer: NodeJS.Timeout | undefined
    const enough = new Promise<void>((resolve) => (timer = setTimeout(resolve, mostFarewellMs)))
    await Promise.race([this.#excuse(), enough])
    clearTimeout(timer)
  }

  async #excuse(): Promise<void> {
    if (this.#isNoted || this.#hasAsked) await this.#call('excuse')
  }

  async #prove(): Promise<void> {
    await this.#call('prove')
    this.#isNoted = true
    this.#place?.share()
  }

  /** It is not known what it does: others do not wait for it for ever. */
  async #accompany(place: Place): Promise<void> {
    if ((await this.#call('accompany')) === true) place.share()
  }

  async #ask(isAlone: boolean, signal: AbortSignal): Promise<Begun | undefined> {
    const { turn } = this.#work
    const asked: BeginAttempt = {
      turn,
      attempt: this.#attempt,
      laps: this.#laps,
      isAtRest: this.#isAtRest,
      first: this.#first,
      isAlone,
    }
    this.#hasAsked = true
    const begun = await this.#call('begin', asked, signal)
    // The object answers so.
    return isJsonObject(begun) ? (begun as unknown as Begun) : undefined
  }

  /** Undefined where the engine refuses: then nobody keeps count. Rejects when it is aborted. */
  async #call(handler: string, given?: Json, signal?: AbortSignal): Promise<Json | undefined> {
    const { url, token, fetch: ask = fetch } = this.#process.options.ingress
    const { turn, sessionId } = this.#work
    const { attempt } = this.#attempt
    const path = `${attemptsObject}/${encodeURIComponent(sessionId)}/${handler}`
    // A call whose answer was lost is not made anew.
    const headers = { 'idempotency-key': randomUUID() }
    const came = await callHandlerOf({ url, token, fetch: ask, headers }, path, given ?? { turn, attempt }, {
      signal,
      patience,
    })
    signal?.throwIfAborted()
    return came.type === 'answer' ? came.value : undefined
  }
}

/** `holdUntil`: the session is open in this process until that settles. */
type OptionsOf<Turn extends AttemptTurn> = (holdUntil: (over: Promise<unknown>) => void) => AttemptOptions<Turn>
type AttemptAt = <Turn extends AttemptTurn>(work: Omit<WorkToNote, 'gone'>, optionsOf: OptionsOf<Turn>) => Promise<Json>

/** Attempts in this process, of which others are told in case that they end it; without a way to the engine they are not. */
export function notedAttempts({ ingress, ...options }: SessionServiceOptions): AttemptAt {
  if (ingress === undefined) return (_, optionsOf) => attempt(optionsOf(() => {}))
  const process = new NotedWorkOfProcess({ ...options, ingress })
  return async (work, optionsOf) => {
    const given = optionsOf((over) => noted.holdUntil(over))
    const noted = new NotedWork(process, { ...work, gone: given.engine.gone })
    try {
      const end = await attempt(notedOptions(noted, given))
      noted.done()
      return end
    } catch (error) {
      await noted.failed()
      throw error
    }
  }
}

function notedOptions<Turn extends AttemptTurn>(noted: NotedWork, options: AttemptOptions<Turn>): AttemptOptions<Turn> {
  const { begin, onBatch } = options
  return {
    ...options,
    firstNote: () => noted.firstNote(),
    begin: async (found, turn) => {
      await noted.begin(found.gone)
      return begin(found, turn)
    },
    onBatch: (batch) => {
      noted.onBatch(batch)
      onBatch?.(batch)
    },
    onMakeWay: (makeWay) => noted.onMakeWay(makeWay),
    leavesAtRest: () => noted.leavesAtRest,
  }
}
