import type { RunEvent } from '../state/events.ts'
import { refuse } from '../values/given.ts'
import { safeErrorText, type ErrorTextOptions } from './error-text.ts'
import { MissedChunks } from './missed-chunks.ts'
import type { UIMessageChunk } from './ui-message-chunk.ts'
import { UITranslator } from './ui-translator.ts'
import type { AgUiEvent } from './ag-ui-event.ts'
import { AgUiTranslator } from './ag-ui-translator.ts'
import { ConfigurationError } from '../values/errors.ts'
import type { RunOptions } from '../api/options.ts'
import { replay } from '../api/resume.ts'
import { foldSession, runsOf } from '../steps/fold-session.ts'
import type { StepRecord } from '../steps/log.ts'

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
interface ItemMaker<Item> {
  take(event: RunEvent): readonly Item[]
  /** There are no more events. */
  end(): readonly Item[]
}

/**
 * A stream of the items that a maker makes of events. It reads no further ahead than it is read; when it is cancelled, the run hears of it at once, also while
 * it waits for a model.
 * @throws ConfigurationError for what is no source of events.
 */
function streamOfItems<Item>(
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

/** Options of `toUIMessageStream`. */
export interface UIMessageStreamOptions extends DisconnectOptions, ErrorTextOptions {
  /**
   * The `Last-Event-ID` of a client that comes back: it gets what it missed. It gets everything for the id of another run, and for a text that is no id.
   * Needs all events of the run: a `SharedRun`, or `recordedEvents`.
   */
  readonly after?: string | undefined
  /** Id of the message that the client builds. By default the id of the run. */
  readonly messageId?: string | undefined
  /** Whether the client gets what the model thinks (default: true). */
  readonly sendReasoning?: boolean | undefined
  /** The client continues a message that it has, such as after an approval: results of the calls in it belong to its parts (default: false). */
  readonly continuesMessage?: boolean | undefined
}

/**
 * A run as the UI message stream of the AI SDK 7: `useChat` reads it unchanged. Text, reasoning and inputs of tools arrive as they are written; figures and the
 * ending are data parts (`HaltingDataParts`). Starts the run. `eventIdOf` gives the id of each chunk, and `toSse` writes them.
 * @throws ConfigurationError for what is no run.
 */
export function toUIMessageStream(
  source: EventSource,
  options: UIMessageStreamOptions = {},
): ReadableStream<UIMessageChunk> {
  const { after, messageId, sendReasoning = true, continuesMessage = false } = options
  const errorText = safeErrorText(options.errorText)
  const translator = new UITranslator({ messageId, sendReasoning, continuesMessage, errorText })
  const missed = new MissedChunks(after)
  const maker = {
    take: (event: RunEvent) =>
      translator
        .take(event)
        .flatMap((placed) => missed.take(placed))
        .map(({ chunk }) => chunk),
    end: () => missed.end().map(({ chunk }) => chunk),
  }
  return streamOfItems(source, maker, options)
}

/** Options of `toAgUiEvents`. */
export interface AgUiOptions extends DisconnectOptions, ErrorTextOptions {
  /** Whether the client gets what the model thinks (default: true). */
  readonly sendReasoning?: boolean | undefined
}

/**
 * A run as events of AG-UI 1.0. Figures, approvals of a run that goes on, and the ending are `CUSTOM` events (`AgUiCustomValues`); a run that ended to be
 * approved has its calls as interrupts. AG-UI cannot take a text back: `halting.retracted` names what an attempt had said that failed. Starts the run.
 * @throws ConfigurationError for what is no run.
 */
export function toAgUiEvents(source: EventSource, options: AgUiOptions = {}): ReadableStream<AgUiEvent> {
  const translator = new AgUiTranslator(options.sendReasoning ?? true, safeErrorText(options.errorText))
  return streamOfItems(source, { take: (event: RunEvent) => translator.take(event), end: () => [] }, options)
}

/**
 * The events of the last run of a session, from its record: nothing is asked or run again. Of a run that is open, those before the turn that is open: what
 * `resume` reports follows them without a gap.
 * @param records All records of the session, in their order.
 * @param options Those that the run was started with.
 * @throws ConfigurationError for records of no run, and for records whose past turns were folded into one.
 */
export async function recordedEvents(
  records: readonly StepRecord[],
  options: RunOptions,
): Promise<readonly RunEvent[]> {
  const runs = runsOf(records)
  const last = runs.at(-1)
  if (last === undefined) throw new ConfigurationError('These are no records of a session: there is no run in them.')
  if (last.some((record) => record.type === 'lap' && record.folds !== undefined))
    throw new ConfigurationError(
      'The past turns of this run were folded: their events cannot be told again. Read its messages instead.',
    )
  const { transcript } = foldSession(runs.slice(0, -1))
  const { events } = await replay(last, options, transcript)
  const isOver = last.some((record) => record.type === 'end' && record.scope === '')
  return isOver ? events : events.slice(0, openTurnIn(events, last))
}

/** Where the events of the open turn begin. A replay makes up an end for what is not on record. */
function openTurnIn(events: readonly RunEvent[], records: readonly StepRecord[]): number {
  let laps = records.filter((record) => record.type === 'lap' && record.lap.scope === '').length
  for (const [index, { type }] of events.entries()) {
    if (laps === 0 && type !== 'run_start' && type !== 'message') return index
    if (type === 'lap') laps--
    if (type === 'lap' && laps === 0) return index + 1
  }
  return events.length
}
