export type { SessionSource } from './server/source.ts'
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
