// `@halting/analysis/why`: explains why each run of a session stopped.
export { sessionContinuation, type SessionContinuation } from './continuation.ts'
export { explainRuns, type RunExplanation, type RunDetails } from './explain-runs.ts'
export { aboutRecord, foreignAccount } from './foreign-account.ts'
export { noticesWith } from '../account/recorded-notices.ts'
export { terminalOf } from './terminal-of.ts'
export { unreportedUsageText, type UnreportedUsage, unreportedUsageIn } from './unreported-usage.ts'
export type { NextStep } from './next-step.ts'
