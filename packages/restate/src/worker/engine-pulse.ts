import type { IngressOptions } from '../fleet/ingress.ts'
import { callWithRetries, type CallOutcome } from '../http/call-handler.ts'
import { service, type Context, type ServiceDefinition } from '@restatedev/restate-sdk'
import { requireProof } from '../access/guard.ts'

const beatMs = 3_000
/** How long an accepted call counts as proof, in milliseconds. */
const freshMs = 5_000
/** Number of idempotency keys. Each belongs to one partition of the engine, which may fail independently. */
const keyCount = 16
const atOnce = 2
/** Maximum number of missed calls: one call may be lost, or late because the engine is busy. */
const maxMissed = 1

const singleTry = { maxTries: 1, firstWaitMs: 0, longestWaitMs: 0, waitsForWorkers: false }

/**
 * Checks whether the engine can write: it answers a call to a service once that is durable, without waiting for a worker to run it.
 * P1: however often it is asked, calls are sent at most every five seconds, or every three while none is accepted.
 * P2: the calls use few keys, and the engine accepts a key once while it has a call of it, so calls do not pile up.
 */
export class EnginePulse {
  readonly #ingress: IngressOptions
  readonly #beatMs: number
  #next = 0
  #takenAt: number | undefined
  #failing: { readonly since: number; readonly missed: number; readonly because: string | undefined } | undefined
  #beating: Promise<void> | undefined

  constructor(ingress: IngressOptions, waitMs: number = beatMs) {
    this.#ingress = ingress
    this.#beatMs = waitMs
  }

  /** Why the engine cannot write, as a clause; undefined if it can. Settles within three seconds. */
  async whyNot(): Promise<string | undefined> {
    const isFresh = this.#takenAt !== undefined && performance.now() - this.#takenAt < freshMs
    if (this.#failing === undefined && isFresh) return undefined
    this.#beating ??= this.#beat().finally(() => (this.#beating = undefined))
    await this.#beating
    if (this.#failing === undefined) return undefined
    const { since, missed, because } = this.#failing
    if (because !== undefined) return because
    if (this.#takenAt !== undefined && missed <= maxMissed) return undefined
    const seconds = Math.max(1, Math.round((performance.now() - since) / 1_000))
    return `the engine cannot write: no answer to a durable call for ${seconds} s (disk full?)`
  }

  async #beat(): Promise<void> {
    const since = performance.now()
    const timeout = AbortSignal.timeout(this.#beatMs)
    const all = await Promise.all(Array.from({ length: atOnce }, () => this.#send(timeout)))
    const isTaken = all.every((outcome) => outcome.type === 'answer' || outcome.type === 'missing')
    if (isTaken) {
      this.#takenAt = performance.now()
      this.#failing = undefined
      return
    }
    const before = this.#failing
    const because = timeout.aborted
      ? undefined
      : all.map((outcome) => this.#refusalReason(outcome)).find((each) => each)
    this.#failing = { since: before?.since ?? since, missed: (before?.missed ?? 0) + 1, because }
  }

  #send(signal: AbortSignal): Promise<CallOutcome> {
    const { url, token, fetch: ask = fetch } = this.#ingress
    const headers = { 'idempotency-key': `pulse-${this.#next}` }
    this.#next = (this.#next + 1) % keyCount
    const options = { url, token, fetch: ask, headers }
    return callWithRetries(options, `/${pulseService}/beat/send`, undefined, { signal, patience: singleTry })
  }

  #refusalReason(outcome: CallOutcome): string | undefined {
    return outcome.type === 'nobody' || outcome.type === 'refused'
      ? `the engine does not accept requests at ${this.#ingress.url}: ${outcome.because}`
      : undefined
  }
}

/** Name of the service whose calls show that the engine can write. Stored state does not move if the name changes. */
export const pulseService = 'halting_pulse'

type PulseHandlers = {
  /** Does nothing: that the engine has accepted the call is what counts. */
  readonly beat: (context: Context) => Promise<void>
}

export function pulseDefinition(tokens?: readonly string[]): ServiceDefinition<typeof pulseService, PulseHandlers> {
  return service({
    name: pulseService,
    // Calls that are over leave nothing in the engine.
    options: { ...requireProof(tokens), idempotencyRetention: 0, journalRetention: 0 },
    handlers: { beat: (): Promise<void> => Promise.resolve() },
  })
}
