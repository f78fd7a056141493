import { ModelError, type ModelErrorJson } from '../model/model-error.ts'
import { createDeadline, type Deadline } from '../values/deadline.ts'
import type { Clock } from '../values/clock.ts'
import type { Run } from '../run/run.ts'

/** The timeout of a question, over all of its attempts. */
export class QuestionTimeout {
  readonly #controller = new AbortController()
  /** Pauses while the question waits for its service. */
  readonly time: Deadline

  constructor(timers: Clock, timeoutMs: number) {
    this.time = createDeadline(timers, { usedMs: 0, limitMs: timeoutMs }, () => this.#controller.abort())
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Ends the timeout, because the question was answered or has failed. */
  end(): void {
    this.time.cancel()
  }
}

/** Calls a model, and waits at most until the cut-off. At the cut-off the call is aborted and its failure is final. */
export function callUntilCutOff<T>(
  run: Run,
  cutOff: AbortSignal | undefined,
  call: (signal: AbortSignal) => PromiseLike<T>,
): PromiseLike<T> {
  const { signal } = run.ports.abort
  if (cutOff === undefined) return call(signal)
  // No request was made.
  if (cutOff.aborted) return Promise.reject(timeoutError('nothing'))
  const controller = new AbortController()
  const stop = (): void => controller.abort()
  let onCut = stop
  const cut = new Promise<never>((_resolve, reject) => {
    onCut = () => {
      controller.abort()
      reject(timeoutError('unknown'))
    }
  })
  signal.addEventListener('abort', stop, { once: true })
  cutOff.addEventListener('abort', onCut, { once: true })
  return Promise.race([call(controller.signal), cut]).finally(() => {
    signal.removeEventListener('abort', stop)
    cutOff.removeEventListener('abort', onCut)
  })
}

/** Waits for something that precedes a call, such as a lease, at most until the cut-off. `onLate` receives a value that arrives later. */
export function waitUntilCutOff<T>(
  cutOff: AbortSignal | undefined,
  signal: AbortSignal,
  ask: (signal: AbortSignal) => PromiseLike<T>,
  onLate: (value: T) => void = () => undefined,
): PromiseLike<T | undefined> {
  if (cutOff === undefined) return ask(signal)
  if (cutOff.aborted) return Promise.resolve(undefined)
  const controller = new AbortController()
  const stop = (): void => controller.abort(signal.reason)
  if (signal.aborted) stop()
  signal.addEventListener('abort', stop, { once: true })
  return new Promise((resolve, reject) => {
    let isCut = false
    const onCut = (): void => {
      isCut = true
      controller.abort()
      resolve(undefined)
    }
    cutOff.addEventListener('abort', onCut, { once: true })
    const done = (): void => {
      signal.removeEventListener('abort', stop)
      cutOff.removeEventListener('abort', onCut)
    }
    void Promise.resolve(ask(controller.signal))
      .then(
        (value) => (isCut ? onLate(value) : resolve(value)),
        (error: unknown) => reject(error),
      )
      .finally(done)
  })
}

/** The question timed out while it waited for money: no request was made. */
export function timeoutWhileWaitingForFunds(): ModelErrorJson {
  return timeoutError('nothing').toRecord()
}

/** `billed`: `unknown` if the service may have started to process the request, which is then charged like a lost request. */
function timeoutError(billed: 'nothing' | 'unknown'): ModelError {
  return new ModelError({
    kind: 'timeout',
    message: 'The question was not answered in time.',
    retryable: false,
    billed,
  })
}
