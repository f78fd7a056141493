// `@halting/core/steps`: building blocks for implementations of the `StepEngine` port, and functions that read their records.

export { retriesLeft, type RetriesLeft } from '../limits/transition-rules.ts'

export type { Clock } from '../values/clock.ts'
export type { ExternalInput, InboxMessage } from '../steps/external-input.ts'
export { DurableStepEngine, type AnswerableStepEngine, type StepEngineOptions } from '../steps/durable-step-engine.ts'
export type { FoldedPast, StepStore, StepRecord } from '../steps/step-record.ts'
export type {
  OpenSession,
  SessionHead,
  SessionListOptions,
  SessionStore,
  StoredSessionInfo,
} from '../steps/session-store.ts'
export { createOpenSession, type OpenSessionOptions, type RecordBatch } from '../steps/open-session.ts'
export {
  validateListOptions,
  validateSessionArguments,
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
export { createMemorySteps, type MemorySteps, type MemoryStepsOptions } from '../steps/memory-steps.ts'
export {
  countedRuns,
  foldSession,
  promptIdOf,
  splitRuns,
  type EndedRun,
  type FoldedSession,
  type StoredSession,
} from '../steps/fold-session.ts'
export { pendingOnRecord, type PendingApproval } from '../run/pending-approval.ts'
export { recordedResult } from '../api/session-account.ts'
export { personsMessages, messageIndex, rewindRecord, type PersonsMessage } from '../api/rewind.ts'
export { validateRecord } from '../steps/stored-record.ts'
export { foldRun, RunTotals, recordedStart, type RestoredRun, type LedgerSoFar, lastTimeOf } from '../steps/fold.ts'
export type {
  ExternalInputOptions,
  SideEffectScope,
  PolledExternalInput,
  StepKey,
  StepOptions,
  StepResult,
  StepEngine,
  WaitResult,
  WaitOptions,
} from '../steps/step-engine.ts'
export { committedNanos, recordedSpending } from '../api/session-account.ts'
export { systemClock } from '../values/system-clock.ts'
export { Ledger, type Amount, type LedgerFigures, type LedgerLimits, type Reservation } from '../limits/ledger.ts'
export type { RunSurroundings } from '../api/iterate.ts'
export { ledgerOf, settingsOf } from '../api/options.ts'
export type { RunSettings } from '../run/run-context.ts'
export { copyOfProgress, freshProgress, withModelUsage, type WritableProgress } from '../state/state.ts'
export type { Iteration, RunEnd, RunIdentity, RunLimits, RunStart } from '../state/state.ts'
export type { MaybePromise } from '../values/maybe-promise.ts'
export { startOfRecord } from '../steps/check-records.ts'
export { transitionRules, rankingOf, transitions, turnsBegun } from '../limits/transition-rules.ts'
export { type AssistantEntry } from '../conversation/transcript.ts'
export { noProgressNudge } from '../limits/guard-texts.ts'
export { askPrices, usdOf, nanosOf, type PriceAnswer } from '../model/prices.ts'
export { boundsOfGrant, maxOfGrant, type GrantBounds } from '../limits/recorded-amount.ts'
export { upperBoundOfMessages } from '../model/tokens.ts'
export { throwInvalidOption, fieldsOf, describeValue, type Fields as GivenFields } from '../values/validators.ts'
export { shouldRemind } from '../limits/no-progress.ts'
export { maskedHash } from '../limits/recent-turns.ts'
export {
  defaultRemindAt,
  defaultRepeats,
  nearestCycle,
  waitThresholdMs,
  withNewest,
  turnHash,
  type Cycle as RepeatedCycle,
} from '../limits/recent-turns.ts'
export { isAnswerValid, endOfAnswer } from '../conversation/verified-answer.ts'
