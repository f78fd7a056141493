// `@halting/core/ui`: runs for web frontends: events of a run as their protocols, and their messages as a history.

export { eventIdOf } from './event-ids.ts'
export type { DisconnectOptions, EventSource } from './event-stream.ts'
export { recordedEvents } from './recorded-events.ts'
export { shareRun, type ShareRunOptions, type SharedRun } from './shared-run.ts'
export { sseHeaders, toSse, type SseOptions } from './sse.ts'
export type { AgentActivity, HaltingDataParts, UIMessageChunk } from './ui-message-chunk.ts'
export { toUIMessageStream, type UIMessageStreamOptions } from './ui-message-stream.ts'
export { approvalsOf, modelMessagesOf, type UIMessageLike } from './ui-messages.ts'
