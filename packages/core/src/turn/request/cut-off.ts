import { ModelError } from '../../model/model-error.ts'
import type { Clock } from '../../steps/clock.ts'
import type { Run } from '../run.ts'

/** The time that somebody gives a question, over all of its attempts. */
export class CutOff {
  readonly #controller = new AbortController()
  readonly #cancel: () => void

  constructor(timers: Pick<Clock, 'after'>, timeoutMs: number) {
    this.#cancel = timers.after(timeoutMs, () => this.#controller.abort())
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** It was answered, or has failed. */
  end(): void {
    this.#cancel()
  }
}

/** Calls a model, and waits no longer than until the cut-off: the call is aborted then, and has failed for good. */
export function untilCutOff<T>(
  run: Run,
  cutOff: AbortSignal | undefined,
  call: (signal: AbortSignal) => PromiseLike<T>,
): PromiseLike<T> {
  const { signal } = run.ports.abort
  if (cutOff === undefined) return call(signal)
  if (cutOff.aborted) return Promise.reject(late())
  const own = new AbortController()
  const stop = (): void => own.abort()
  let onCut = stop
  const cut = new Promise<never>((_resolve, reject) => {
    onCut = () => {
      own.abort()
      reject(late())
    }
  })
  signal.addEventListener('abort', stop, { once: true })
  cutOff.addEventListener('abort', onCut, { once: true })
  return Promise.race([call(own.signal), cut]).finally(() => {
    signal.removeEventListener('abort', stop)
    cutOff.removeEventListener('abort', onCut)
  })
}

/** What the service made of it is not known: it is charged as a request whose answer was lost. */
function late(): ModelError {
  return new ModelError({
    kind: 'timeout',
    message: 'The question was not answered in the time that it was given.',
    retryable: false,
    billed: 'unknown',
  })
}
