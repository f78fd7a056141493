// `@halting/core/ui`: runs for web frontends: events of a run in their protocols, and their messages as a history.

export type { AgUiCustomValues, AgUiEvent, AgUiInterrupt, AgUiOutcome, AgUiUsage } from './ag-ui-event.ts'
export { toAgUiEvents, type AgUiOptions } from './event-stream.ts'
export type { ErrorTextOptions } from './error-text.ts'
export { eventIdOf } from './event-ids.ts'
export type { DisconnectOptions, EventSource } from './event-stream.ts'
export { recordedEvents } from './event-stream.ts'
export { shareRun, type ShareRunOptions, type SharedRun } from './shared-run.ts'
export { sseHeaders, toSse, type SseOptions } from './sse.ts'
export type { AgentActivity, HaltingDataParts, UIMessageChunk } from './ui-message-chunk.ts'
export { toUIMessageStream, type UIMessageStreamOptions } from './event-stream.ts'
export { approvalsOf, modelMessagesOf, type UIMessageLike } from './ui-messages.ts'
