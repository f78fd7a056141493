// `@halting/analysis/sessions`: reads sessions of any program from files.
export {
  unpricedIn,
  type AnySession,
  type PricesFor,
  readAnySession,
  pastSessionOf,
  pastTrajectory,
  readPastSession,
  type PastSession,
  type PastTrajectory,
} from './read-session.ts'
export { summariesOf, summaryOf, type SessionSummary } from './session-summaries.ts'
export { sessionsInFiles, type ManySessions } from './session-files.ts'
export { writerOf } from './writer-of.ts'
export { FileCatalog, type FileCatalogOptions } from './file-catalog.ts'
export { inspectedSession, type InspectedDetails } from './inspect-session.ts'
