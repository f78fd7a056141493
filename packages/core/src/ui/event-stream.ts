import type { RunEvent } from '../state/events.ts'
import { throwInvalidOption } from '../values/validators.ts'
import { safeErrorText, type ErrorTextOptions } from './error-text.ts'
import { MissedChunks } from './missed-chunks.ts'
import type { UIMessageChunk } from './ui-message-chunk.ts'
import { UITranslator } from './ui-translator.ts'
import type { AgUiEvent } from './ag-ui-event.ts'
import { AgUiTranslator } from './ag-ui-translator.ts'
import { ConfigurationError } from '../values/errors.ts'
import type { RunOptions } from '../api/options.ts'
import { replay } from '../api/resume.ts'
import { foldSession, splitRuns } from '../steps/fold-session.ts'
import type { StepRecord } from '../steps/step-record.ts'

/** The source of a stream: a run, a `SharedRun`, or events from `recordedEvents`. */
export type EventSource = (AsyncIterable<RunEvent> | Iterable<RunEvent>) & {
  /** Aborts the run. */
  abort?(): void
}

/** What happens to the run when the client disconnects. */
export interface DisconnectOptions {
  /**
   * `abort` ends the run. `continue` reads it to its end without a client. Default: a run is aborted, and a `SharedRun`,
   * which other clients may read, continues.
   */
  readonly onDisconnect?: 'abort' | 'continue' | undefined
}

/** Converts events to items. */
interface ItemMaker<Item> {
  take(event: RunEvent): readonly Item[]
  /** Called when there are no more events. */
  end(): readonly Item[]
}

/**
 * A stream of the items that a maker derives from events. It reads only as far as its reader requests. When it is
 * cancelled, the run is notified immediately, even while it waits for a model.
 * @throws ConfigurationError for anything that is not a source of events.
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
        // A cancelled run still has to settle. The stream does not wait for that.
        void events.return?.()
      },
    },
    { highWaterMark: 0 },
  )
}

function iteratorOf(source: EventSource): AsyncIterator<RunEvent, unknown, undefined> {
  // Plain JavaScript may pass anything.
  const value: object = Object(source)
  if (Symbol.asyncIterator in value) return (value as AsyncIterable<RunEvent>)[Symbol.asyncIterator]()
  if (!(Symbol.iterator in value) || typeof source === 'string')
    return throwInvalidOption('What a stream for clients is made of', 'a run, such as streamRun(…) gives', source)
  const events = (value as Iterable<RunEvent>)[Symbol.iterator]()
  return { next: async () => events.next() }
}

/** Reads a run to its end, so that its events do not accumulate. */
async function drain(events: AsyncIterator<RunEvent, unknown, undefined>): Promise<void> {
  try {
    while ((await events.next()).done !== true);
  } catch {
    // No reader is left that could be notified.
  }
}

/** Options of `toUIMessageStream`. */
export interface UIMessageStreamOptions extends DisconnectOptions, ErrorTextOptions {
  /**
   * The `Last-Event-ID` of a reconnecting client, which then receives the chunks that it missed. It receives all chunks
   * if the id is invalid or belongs to another run. Requires all events of the run: a `SharedRun`, or `recordedEvents`.
   */
  readonly after?: string | undefined
  /** Id of the message that the client builds. Default: the id of the run. */
  readonly messageId?: string | undefined
  /** Whether the client receives the model's thinking (default: true). */
  readonly sendReasoning?: boolean | undefined
  /**
   * Whether the client continues an existing message, for example after an approval, so that results of its calls belong
   * to its parts (default: false).
   */
  readonly continuesMessage?: boolean | undefined
}

/**
 * A run as the UI message stream of the AI SDK 7: `useChat` reads it unchanged. Text, reasoning and tool inputs are
 * streamed; figures and the ending are data parts (`HaltingDataParts`). Starts the run. `eventIdOf` returns the id of
 * each chunk, and `toSse` writes chunks.
 * @throws ConfigurationError for anything that is not a run.
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
  /** Whether the client receives the model's thinking (default: true). */
  readonly sendReasoning?: boolean | undefined
}

/**
 * Converts a run to events of AG-UI 1.0. Figures, approvals during a run, and the ending are `CUSTOM` events
 * (`AgUiCustomValues`). If a run ended to wait for approvals, its pending calls are interrupts. AG-UI cannot retract a
 * text: `halting.retracted` names the messages of a failed attempt. Starts the run.
 * @throws ConfigurationError for anything that is not a run.
 */
export function toAgUiEvents(source: EventSource, options: AgUiOptions = {}): ReadableStream<AgUiEvent> {
  const translator = new AgUiTranslator(options.sendReasoning ?? true, safeErrorText(options.errorText))
  return streamOfItems(source, { take: (event: RunEvent) => translator.take(event), end: () => [] }, options)
}

/**
 * The events of the last run of a session, from its record; nothing is requested or executed again. For an open run, the
 * events before its open turn: those of `resume` follow them without a gap.
 * @param records All records of the session, in order.
 * @param options The options that the run was started with.
 * @throws ConfigurationError for records without a run, and for records whose past turns were folded into one.
 */
export async function recordedEvents(
  records: readonly StepRecord[],
  options: RunOptions,
): Promise<readonly RunEvent[]> {
  const runs = splitRuns(records)
  const last = runs.at(-1)
  if (last === undefined) throw new ConfigurationError('These are not the records of a session: they contain no run.')
  if (last.some((record) => record.type === 'lap' && record.folds !== undefined))
    throw new ConfigurationError(
      'The past turns of this run were folded: their events are not available any more. Read its messages instead.',
    )
  const { transcript } = foldSession(runs.slice(0, -1))
  const { events } = await replay(last, options, transcript)
  const isOver = last.some((record) => record.type === 'end' && record.scope === '')
  return isOver ? events : events.slice(0, openTurnIn(events, last))
}

/** Index of the first event of the open turn. A replay creates an end for what is not recorded. */
function openTurnIn(events: readonly RunEvent[], records: readonly StepRecord[]): number {
  let remaining = records.filter((record) => record.type === 'lap' && record.lap.scope === '').length
  for (const [index, { type }] of events.entries()) {
    if (remaining === 0 && type !== 'run_start' && type !== 'message') return index
    if (type === 'lap') remaining--
    if (type === 'lap' && remaining === 0) return index + 1
  }
  return events.length
}
