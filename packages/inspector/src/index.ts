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
  TurnPoint,
} from './view/types.ts'
