import { setTimeout as pause } from 'node:timers/promises'
import { messageOf } from '@halting/core/adapters'

const betweenTriesMs = 500
const patienceMs = 60_000
const answerMs = 5_000

/** What a worker asks of the administration of the engine. */
export class EngineAdmin {
  readonly #base: string

  constructor(url: string) {
    this.#base = url.replace(/\/+$/, '')
  }

  /**
   * The engine knows the worker at this address from now on; one that it knows is asked again what it serves. Tries for a minute while the engine, or the
   * worker from the engine's side, is not there yet.
   */
  async register(worker: string, signal?: AbortSignal): Promise<void> {
    const until = Date.now() + patienceMs
    for (;;) {
      try {
        await this.#ask('/deployments', { uri: worker, force: true }, signal)
        return
      } catch (error) {
        signal?.throwIfAborted()
        if (Date.now() > until)
          throw new Error(`${this.#base} did not take ${worker}: ${messageOf(error)}`, { cause: error })
      }
      await pause(betweenTriesMs, undefined, { signal })
    }
  }

  /** Why the engine does not know the worker at this address; undefined where it does. */
  async whyUnknown(worker: string): Promise<string | undefined> {
    try {
      // Its administration answers so.
      const { deployments } = (await this.#ask('/deployments')) as { deployments: readonly { uri?: string }[] }
      const isKnown = deployments.some(({ uri }) => uri !== undefined && sameAddress(uri, worker))
      return isKnown ? undefined : `the engine at ${this.#base} does not know ${worker}`
    } catch (error) {
      return `the engine at ${this.#base} does not answer: ${messageOf(error)}`
    }
  }

  async #ask(path: string, body?: object, signal?: AbortSignal): Promise<unknown> {
    const timeout = AbortSignal.timeout(body === undefined ? answerMs : patienceMs)
    const response = await fetch(this.#base + path, {
      signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
      ...(body !== undefined && {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${response.status} ${text.slice(0, 500)}`)
    return JSON.parse(text)
  }
}

function sameAddress(a: string, b: string): boolean {
  return a.replace(/\/+$/, '') === b.replace(/\/+$/, '')
}
