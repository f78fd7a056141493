import type { RunEvent } from '../state/events.ts'
import { streamOfItems, type DisconnectOptions, type EventSource } from './event-stream.ts'
import { safeErrorText, type ErrorTextOptions } from './error-text.ts'
import { MissedChunks } from './missed-chunks.ts'
import type { UIMessageChunk } from './ui-message-chunk.ts'
import { UITranslator } from './ui-translator.ts'

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
