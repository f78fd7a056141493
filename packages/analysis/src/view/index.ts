// `@halting/analysis/view`: the view model of a session: rows of a list, runs, timelines and transcripts, as JSON for a page.
export { changeLines, type ChangeLines } from './change-lines.ts'
export type { InspectedSession } from './inspected-session.ts'
export { transcriptParts } from './parts.ts'
export { rowOf, unreadRow } from './row.ts'
export {
  plainText,
  toldSession,
  type ToldSession,
  type Part,
  type ToldCall,
  type ToldRun,
  toldParts,
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
} from './types.ts'
export { viewOf } from './view.ts'
