import type { RunEvent } from '../state/events.ts'
import type { AgUiEvent } from './ag-ui-event.ts'
import { AgUiTranslator } from './ag-ui-translator.ts'
import { safeErrorText, type ErrorTextOptions } from './error-text.ts'
import { streamOfItems, type DisconnectOptions, type EventSource } from './event-stream.ts'

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
