import type { RunEvent } from '../state/events.ts'
import { refuse } from '../values/given.ts'

/** What a stream is made of: a run, a `SharedRun`, or events from `recordedEvents`. */
export type EventSource = (AsyncIterable<RunEvent> | Iterable<RunEvent>) & {
  /** Aborts the run. */
  abort?(): void
}

/** What becomes of the run when the client leaves. */
export interface DisconnectOptions {
  /**
   * `abort` ends the run. `continue` reads it to its end, without a client. By default a run is aborted, and a `SharedRun` continues, which other clients may
   * read.
   */
  readonly onDisconnect?: 'abort' | 'continue' | undefined
}

/** Makes items of events. */
export interface ItemMaker<Item> {
  take(event: RunEvent): readonly Item[]
  /** There are no more events. */
  end(): readonly Item[]
}

/**
 * A stream of the items that a maker makes of events. It reads no further ahead than it is read; when it is cancelled, the run hears of it at once, also while
 * it waits for a model.
 * @throws ConfigurationError for what is no source of events.
 */
export function streamOfItems<Item>(
  source: EventSource,
  maker: ItemMaker<Item>,
  { onDisconnect }: DisconnectOptions,
): ReadableStream<Item> {
  const events = iteratorOf(source)
  let items: readonly Item[] = []
  let at = 0
  let isOver = false
  return new ReadableStream<Item>(
    {
      async pull(controller) {
        while (at === items.length) {
          if (isOver) return controller.close()
          const { done, value } = await events.next()
          isOver = done === true
          items = done === true ? maker.end() : maker.take(value)
          at = 0
        }
        const item = items[at]
        at++
        if (item !== undefined) controller.enqueue(item)
      },
      async cancel() {
        if (isOver) return
        if (onDisconnect === 'continue') return void drain(events)
        if (onDisconnect === 'abort') source.abort?.()
        // A run that is left settles first: nobody waits for that here.
        void events.return?.()
      },
    },
    { highWaterMark: 0 },
  )
}

function iteratorOf(source: EventSource): AsyncIterator<RunEvent, unknown, undefined> {
  // Plain JavaScript may give anything.
  const given: object = Object(source)
  if (Symbol.asyncIterator in given) return (given as AsyncIterable<RunEvent>)[Symbol.asyncIterator]()
  if (!(Symbol.iterator in given) || typeof source === 'string')
    return refuse('What a stream for clients is made of', 'a run, such as streamRun(…) gives', source)
  const events = (given as Iterable<RunEvent>)[Symbol.iterator]()
  return { next: async () => events.next() }
}

/** Somebody has to read a run, or its events would pile up. */
async function drain(events: AsyncIterator<RunEvent, unknown, undefined>): Promise<void> {
  try {
    while ((await events.next()).done !== true);
  } catch {
    // Nobody is left who could be told.
  }
}
