// `@halting/core/ui`: the events of a run as the protocols of frontends.

export { eventIdOf } from './event-ids.ts'
export type { DisconnectOptions, EventSource } from './event-stream.ts'
export { recordedEvents } from './recorded-events.ts'
export { shareRun, type ShareRunOptions, type SharedRun } from './shared-run.ts'
export { sseHeaders, toSse, type SseOptions } from './sse.ts'
export type { AgentActivity, HaltingDataParts, UIMessageChunk } from './ui-message-chunk.ts'
export { toUIMessageStream, type UIMessageStreamOptions } from './ui-message-stream.ts'
