import { whenAborted } from '../values/abort.ts'
import { QueryEngine } from './engine.ts'
import { ignoreRejection } from '../values/maybe-promise.ts'
import { fieldsOf, throwInvalidOption } from '../values/validators.ts'
import { leavableGenerator, Departure } from '../values/leavable-generator.ts'
import type { MessageContent } from '../model/messages.ts'
import type { QueryOptions } from './query-options.ts'
import type { SdkMessages } from '../sdk/sdk-messages.ts'

/** The argument of `query`. */
export interface QueryInput<Output = unknown> {
  /** One prompt, or several prompts in sequence, each of which starts a run. */
  readonly prompt: MessageContent | AsyncIterable<MessageContent>
  /** The options of the query. */
  readonly options: QueryOptions<Output>
}

/** The SDK messages of a query, and methods to control the current run. */
export interface Query<Output = unknown> extends SdkMessages<Output> {
  /** The engine behind the query, for further prompts and for its state. */
  readonly engine: QueryEngine<Output>
  /** Ends the current run at once. */
  interrupt(): void
}

// Spec R-SDK-1.
/** Runs an agent and returns messages in the SDK message format; the last message of each run is its result. */
export function query<Output = unknown>(input: QueryInput<Output>): Query<Output> {
  if (fieldsOf(input) === undefined) throwInvalidOption('query', 'given { prompt, options }', input)
  const { prompt, options } = input
  const engine = new QueryEngine(options)
  checkPrompts(prompt)
  if (typeof prompt === 'string' || Array.isArray(prompt)) {
    const messages = leavableGenerator((leaving) => runOne(engine, prompt, leaving))
    return Object.assign(messages, { engine, interrupt: () => engine.interrupt() })
  }
  // Any value that is not a prompt is an iterable, according to the type.
  const prompts = new IncomingPrompts(prompt as AsyncIterable<MessageContent>, options.signal)
  const messages = leavableGenerator((leaving) => runAll(engine, prompts, leaving))
  return Object.assign(messages, { engine, interrupt: () => prompts.stopWaiting() || engine.interrupt() })
}

/** Plain JavaScript may pass any value. */
function checkPrompts(prompt: unknown): void {
  const isPrompts =
    typeof prompt === 'object' && prompt !== null && (Symbol.asyncIterator in prompt || Symbol.iterator in prompt)
  if (typeof prompt !== 'string' && !isPrompts)
    throwInvalidOption('prompt', 'a text, a list of blocks, or an async iterable of these', prompt)
}

async function* runOne<Output>(
  engine: QueryEngine<Output>,
  prompt: MessageContent,
  leaving: Departure,
): SdkMessages<Output> {
  const messages = engine.submit(prompt)
  const stop = leaving.onLeave(() => ignoreRejection(messages.return()))
  try {
    yield* messages
  } finally {
    stop()
  }
}

async function* runAll<Output>(
  engine: QueryEngine<Output>,
  prompts: IncomingPrompts,
  leaving: Departure,
): SdkMessages<Output> {
  const stop = leaving.onLeave(() => prompts.stopWaiting())
  try {
    for (;;) {
      const next = await prompts.next()
      if (next === undefined || leaving.hasLeft) return
      yield* runOne(engine, next.prompt, leaving)
    }
  } finally {
    stop()
    prompts.close()
  }
}

// Spec R-SDK-15.
/** The prompts of a caller, who may never provide the next one. When the query ends, the wait for the next prompt therefore ends too. */
class IncomingPrompts {
  /** A synchronous iterable may contain promises of prompts. */
  readonly #prompts: AsyncIterator<MessageContent> | Iterator<MessageContent | PromiseLike<MessageContent>>
  readonly #signal: AbortSignal | undefined
  #waiting: Departure | undefined
  #isOver = false

  constructor(prompts: AsyncIterable<MessageContent> | Iterable<MessageContent>, signal: AbortSignal | undefined) {
    this.#prompts = Symbol.asyncIterator in prompts ? prompts[Symbol.asyncIterator]() : prompts[Symbol.iterator]()
    this.#signal = signal
  }

  /** The next prompt; undefined after the last one, or when the wait was ended. */
  async next(): Promise<{ readonly prompt: MessageContent } | undefined> {
    const waiting = (this.#waiting = new Departure())
    const unfollow = this.#signal === undefined ? undefined : whenAborted(this.#signal, () => waiting.leave())
    try {
      const next = await waiting.until(this.#ask())
      if (next?.done !== false) this.#isOver = next !== undefined
      return next?.done === false ? { prompt: next.value } : undefined
    } catch (thrown) {
      this.#isOver = true
      throw thrown
    } finally {
      this.#waiting = undefined
      unfollow?.()
    }
  }

  async #ask(): Promise<IteratorResult<MessageContent>> {
    const { done, value } = await this.#prompts.next()
    return done === true ? { done, value: undefined } : { done: false, value: await value }
  }

  /** False if no prompt is awaited. */
  stopWaiting(): boolean {
    this.#waiting?.leave()
    return this.#waiting !== undefined
  }

  /** Closes the caller's iterator, without waiting for its response. */
  close(): void {
    if (this.#isOver) return
    this.#isOver = true
    try {
      ignoreRejection(this.#prompts.return?.())
    } catch {
      // The query is over, so errors of its iterator are ignored.
    }
  }
}
