// `@halting/core/steps`: building blocks for implementations of the `StepEngine` port, and functions that read their records.

export { retriesLeft, type RetriesLeft } from '../limits/allowance.ts'

export type { Clock } from '../values/clock.ts'
export type { ExternalInput, InboxMessage } from '../steps/control.ts'
export { DurableStepEngine, type AnswerableStepEngine, type StepEngineOptions } from '../steps/driver.ts'
export type { FoldedPast, StepStore, StepRecord } from '../steps/log.ts'
export type {
  OpenSession,
  SessionHead,
  SessionListOptions,
  SessionStore,
  StoredSessionInfo,
} from '../steps/session-store.ts'
export { createOpenSession, type OpenSessionOptions, type RecordBatch } from '../steps/open-session.ts'
export {
  checkListGiven,
  checkSessionGiven,
  damagedRecord,
  decodeRecords,
  headOf,
  noSuchPage,
  sessionFormat,
  sessionInUse,
  sessionOfLaterVersion,
  sessionTakenOver,
} from '../steps/session-records.ts'
export { copySession } from '../steps/copy-session.ts'
export { createMemorySteps, type MemorySteps, type MemoryStepsOptions } from '../steps/memory.ts'
export {
  countedRuns,
  foldSession,
  promptIdOf,
  runsOf,
  type EndedRun,
  type FoldedSession,
  type StoredSession,
} from '../steps/fold-session.ts'
export { pendingOnRecord, type PendingApproval } from '../run/pending-approval.ts'
export { recordedResult } from '../api/session-account.ts'
export { personsMessages, placeOfMessage, rewindRecord, type PersonsMessage } from '../api/rewind.ts'
export { misfitOfRecord } from '../steps/stored-record.ts'
export { foldRun, PastOfRun, recordedStart, type RestoredRun, type LedgerSoFar, lastMomentOf } from '../steps/fold.ts'
export type {
  ExternalInputOptions,
  EffectScope,
  PolledExternalInput,
  StepKey,
  StepOptions,
  StepResult,
  StepEngine,
  Waited,
  WaitOptions,
} from '../steps/steps.ts'
export { committedNanos, recordedSpending } from '../api/session-account.ts'
export { systemClock } from '../values/system-clock.ts'
export { Ledger, type Amount, type LedgerFigures, type LedgerLimits, type Reservation } from '../limits/ledger.ts'
export type { RunSurroundings } from '../api/iterate.ts'
export { ledgerOf, settingsOf } from '../api/options.ts'
export type { RunSettings } from '../run/run-context.ts'
export { copyOfProgress, freshProgress, withModelUsage, type WritableProgress } from '../state/state.ts'
export type { Iteration, RunEnd, RunIdentity, RunLimits, RunStart } from '../state/state.ts'
export type { Eventually } from '../values/eventually.ts'
export { beginningOf } from '../steps/check-records.ts'
export { allowances, rankingOf, transitions, turnsBegun } from '../limits/allowance.ts'
export { type AssistantEntry } from '../conversation/transcript.ts'
export { noProgressNudge } from '../limits/guard-texts.ts'
export { askPrices, usdOf, nanosOf, type PriceAnswer } from '../model/prices.ts'
export { boundsOfGrant, mostOfGrant, type GrantBounds } from '../limits/recorded-amount.ts'
export { upperBoundOfMessages } from '../model/tokens.ts'
export { refuse, fieldsOf, shown, type Fields as GivenFields } from '../values/given.ts'
export { isDueToRemind } from '../limits/no-progress.ts'
export { maskedHash } from '../limits/recent-turns.ts'
export {
  defaultRemindAt,
  defaultRepeats,
  nearestCycle,
  waitMs,
  withNewest,
  turnHash,
  type Cycle as RepeatedCycle,
} from '../limits/recent-turns.ts'
export { answerStands, endOfAnswer } from '../conversation/kept-answer.ts'
