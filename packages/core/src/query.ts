import { QueryEngine } from './engine.ts'
import { fieldsOf, refuse } from './given.ts'
import type { MessageContent } from './messages.ts'
import type { QueryOptions } from './query-options.ts'
import type { SdkMessages } from './sdk/sdk-messages.ts'

/** The argument of `query`. */
export interface QueryInput<Output = unknown> {
  /** One prompt, or prompts that come one after another: each is a run. */
  readonly prompt: MessageContent | AsyncIterable<MessageContent>
  readonly options: QueryOptions<Output>
}

/** SDK messages of a query, with a hand on the run that goes on. */
export interface Query<Output = unknown> extends SdkMessages<Output> {
  readonly engine: QueryEngine<Output>
  interrupt(): void
}

/** Asks an agent and gives messages in the SDK message format (spec R-SDK-1); the last of each run is its result. */
export function query<Output = unknown>(input: QueryInput<Output>): Query<Output> {
  if (fieldsOf(input) === undefined) refuse('query', 'given { prompt, options }', input)
  const { prompt, options } = input
  const engine = new QueryEngine(options)
  checkPrompts(prompt)
  const messages = runAll(engine, prompt)
  return Object.assign(messages, { engine, interrupt: () => engine.interrupt() })
}

/** Plain JavaScript may give none. */
function checkPrompts(prompt: unknown): void {
  const isPrompts =
    typeof prompt === 'object' && prompt !== null && (Symbol.asyncIterator in prompt || Symbol.iterator in prompt)
  if (typeof prompt !== 'string' && !isPrompts)
    refuse('prompt', 'a text, a list of blocks, or an async iterable of these', prompt)
}

async function* runAll<Output>(engine: QueryEngine<Output>, prompt: QueryInput['prompt']): SdkMessages<Output> {
  if (typeof prompt === 'string' || Array.isArray(prompt)) {
    yield* engine.submit(prompt)
    return
  }
  // What is neither text nor a list of blocks is the iterable of the type.
  for await (const next of prompt as AsyncIterable<MessageContent>) yield* engine.submit(next)
}
