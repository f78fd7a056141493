import { setTimeout as pause } from 'node:timers/promises'
import type { Departure } from './departure.ts'
import type { EngineAdmin } from './engine-admin.ts'
import type { EnginePulse } from './engine-pulse.ts'
import type { EngineWatch } from './engine-watch.ts'
import type { HandOver } from './hand-over.ts'
import type { WorkerListener } from './worker-events.ts'

/** Whoever asks has given up by then. */
const answerMs = 3_700
/** So long the engine may fail to tell what rests, such as while a node of it starts. */
const lookMs = 6_000

export interface ReadinessOptions {
  readonly handOver: Pick<HandOver, 'successor'>
  readonly departure: Pick<Departure, 'soon'>
  readonly engine: Pick<EngineAdmin, 'whyUnknown'>
  /** Of this worker. */
  readonly url: string
  readonly watch: Pick<EngineWatch, 'failure'>
  /** Undefined where the worker does not know where the engine takes requests. */
  readonly pulse: Pick<EnginePulse, 'whyNot'> | undefined
  readonly report: WorkerListener
}

/** Whether this worker can really do work. A change is reported when somebody asks. */
export class Readiness {
  readonly #options: ReadinessOptions
  /** What was said last; undefined before. */
  #last: { readonly because: string | undefined } | undefined
  /** However many ask at once, the engine is asked once. */
  #pendingLook: Promise<string | undefined> | undefined

  constructor(options: ReadinessOptions) {
    this.#options = options
  }

  /** What is not looked at. */
  get unchecked(): string | undefined {
    return this.#options.pulse === undefined
      ? 'whether the engine can write: this worker does not know where it takes requests'
      : undefined
  }

  /** As a clause; undefined where it can. Settles within four seconds. */
  async whyNot(): Promise<string | undefined> {
    const giveUp = new AbortController()
    const late = pause(answerMs, 'the engine does not answer', { signal: giveUp.signal, ref: false })
    const because = await Promise.race([this.#currentLook(), late.catch(() => undefined)])
    giveUp.abort()
    this.#report(because)
    return because
  }

  #currentLook(): Promise<string | undefined> {
    this.#pendingLook ??= this.#look().finally(() => (this.#pendingLook = undefined))
    return this.#pendingLook
  }

  async #look(): Promise<string | undefined> {
    const { handOver, departure, engine, url, pulse, watch } = this.#options
    if (handOver.successor !== undefined) return `${handOver.successor} takes the sessions of this worker over`
    if (departure.soon.aborted) return 'this worker is about to end'
    const [unknown, cannotWrite] = await Promise.all([engine.whyUnknown(url), pulse?.whyNot()])
    const { failure } = watch
    const cannotRead =
      failure !== undefined && performance.now() - failure.since > lookMs
        ? `the engine cannot say which sessions rest: ${failure.because}`
        : undefined
    return unknown ?? cannotWrite ?? cannotRead
  }

  /** How long it goes on is no change. */
  #report(because: string | undefined): void {
    const isChange = this.#last === undefined || (this.#last.because === undefined) !== (because === undefined)
    this.#last = { because }
    if (!isChange) return
    this.#options.report({
      type: 'ready',
      isReady: because === undefined,
      ...(because !== undefined && { because }),
    })
  }
}
