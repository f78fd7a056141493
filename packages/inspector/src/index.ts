export { changeLines, type ChangeLines } from './told/change-lines.ts'
export { jsonText } from './json-text.ts'
export { openEntries } from './told/open-entries.ts'
export {
  plainText,
  toldParts,
  toldSession,
  type Part,
  type ToldCall,
  type ToldRun,
  type ToldSession,
} from './told/told-session.ts'
export { exportedName, exportedPage, type ExportedFrom } from './server/exported-page.ts'
export { readPageFiles, type PageFiles } from './server/page-files.ts'
export type { SessionSource } from './server/source.ts'
export { startInspector, type Inspector, type InspectorOptions } from './server/start-inspector.ts'
export type {
  CallPart,
  ContextByKind,
  ItemKind,
  RecordedBy,
  RunView,
  SessionRow,
  SessionView,
  TimelineItem,
  TranscriptPart,
  TurnCall,
  TurnPoint,
} from './view/types.ts'
export type { InspectedSession } from './view/inspected.ts'
export { transcriptParts } from './view/parts.ts'
export { rowOf, unreadRow } from './view/row.ts'
export { viewOf } from './view/view.ts'
