// `@halting/analysis/view`: the view model of a session for a page: rows of a list, runs, timelines and transcripts, as JSON.
export { changeLines, type ChangeLines } from './change-lines.ts'
export type { InspectedSession } from './inspected-session.ts'
export { transcriptParts } from './parts.ts'
export { firstPrompt, rowOf, unreadRow } from './row.ts'
export {
  plainText,
  sessionTranscript,
  type SessionTranscript,
  type Part,
  type CheckPart,
  type TranscriptCall,
  type RunTranscript,
  partsOfMessages,
  type NoteEntry,
} from './session-transcript.ts'
export type {
  SessionRow,
  SessionView,
  TranscriptPart,
  CallPart,
  ContextByKind,
  ItemKind,
  RecordedBy,
  RunView,
  TimelineItem,
  TurnCall,
  TurnPoint,
  ModelWindow,
} from './types.ts'
export { viewOf } from './view.ts'
export { replayLines, type ReplayLine } from './replay-lines.ts'
export type { SessionSource } from './session-source.ts'
export { CatalogSource, type CatalogSessionSource } from './catalog-source.ts'
export type { Beginning, Entry, SessionCatalog } from './session-catalog.ts'
