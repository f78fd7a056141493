import { setTimeout as pause } from 'node:timers/promises'
import type { Departure } from './departure.ts'
import type { EngineAdmin } from './engine-admin.ts'
import type { EnginePulse } from './engine-pulse.ts'
import type { EngineWatch } from './engine-watch.ts'
import type { HandOver } from './hand-over.ts'
import type { WorkerListener } from './worker-events.ts'

/** Time limit of a probe, in milliseconds. */
const answerMs = 3_700
/** How long the engine may fail to report resting work, for example while one of its nodes starts. */
const lookMs = 6_000

export interface ReadinessOptions {
  readonly handOver: Pick<HandOver, 'successor'>
  readonly departure: Pick<Departure, 'soon'>
  readonly engine: Pick<EngineAdmin, 'whyUnknown'>
  /** Address of this worker. */
  readonly url: string
  readonly watch: Pick<EngineWatch, 'failure'>
  /** Undefined if the worker does not know the engine's ingress. */
  readonly pulse: Pick<EnginePulse, 'whyNot'> | undefined
  readonly report: WorkerListener
}

/** Whether this worker can work. A change is reported when someone asks. */
export class Readiness {
  readonly #options: ReadinessOptions
  /** The last answer; undefined before the first. */
  #last: { readonly because: string | undefined } | undefined
  /** Concurrent callers share one check. */
  #pendingLook: Promise<string | undefined> | undefined

  constructor(options: ReadinessOptions) {
    this.#options = options
  }

  /** A description of what is not checked; undefined if everything is checked. */
  get unchecked(): string | undefined {
    return this.#options.pulse === undefined
      ? 'whether the engine can write: this worker does not know the address of its ingress'
      : undefined
  }

  /** Why it cannot work, as a clause; undefined if it can. Settles within four seconds. */
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
    if (handOver.successor !== undefined) return `${handOver.successor} takes over the sessions of this worker`
    if (departure.soon.aborted) return 'this worker is about to end'
    const [unknown, cannotWrite] = await Promise.all([engine.whyUnknown(url), pulse?.whyNot()])
    const { failure } = watch
    const cannotRead =
      failure !== undefined && performance.now() - failure.since > lookMs
        ? `the engine cannot say which sessions rest: ${failure.because}`
        : undefined
    return unknown ?? cannotWrite ?? cannotRead
  }

  /** A different duration in the reason is not a change. */
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
