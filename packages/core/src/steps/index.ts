// `@halting/core/steps`: what implementations of the `StepEngine` port are made of, and what reads their records.

export { retriesLeft, type RetriesLeft } from '../allowance.ts'

export type { Clock } from './clock.ts'
export type { ExternalInput, InboxMessage } from './control.ts'
export { DurableStepEngine, type AnswerableStepEngine, type StepEngineOptions } from './driver.ts'
export type { FoldedPast, StepStore, StepRecord } from './log.ts'
export type { OpenSession, SessionHead, SessionListOptions, SessionStore, StoredSessionInfo } from './session-store.ts'
export { createOpenSession, type OpenSessionOptions, type RecordBatch } from './open-session.ts'
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
} from './session-records.ts'
export { copySession } from './copy-session.ts'
export { createMemorySteps, type MemorySteps, type MemoryStepsOptions } from './memory.ts'
export {
  countedRuns,
  foldSession,
  promptIdOf,
  runsOf,
  type EndedRun,
  type FoldedSession,
  type StoredSession,
} from './fold-session.ts'
export { pendingOnRecord, type PendingApproval } from '../pending-approval.ts'
export { recordedResult } from '../sdk/recorded-result.ts'
export { personsMessages, placeOfMessage, rewindRecord, type PersonsMessage } from '../rewind.ts'
export { misfitOfRecord } from './stored-record.ts'
export { foldRun, PastOfRun, recordedStart, type RestoredRun, type LedgerSoFar, lastMomentOf } from './fold.ts'
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
} from './steps.ts'
export { committedNanos, recordedSpending } from '../session-account.ts'
export { systemClock } from './system-clock.ts'
export { Ledger, type Amount, type LedgerFigures, type LedgerLimits, type Reservation } from '../budget/ledger.ts'
export type { RunSurroundings } from '../iterate.ts'
export { ledgerOf, settingsOf } from '../options.ts'
export type { RunSettings } from '../run-context.ts'
export { copyOfProgress, freshProgress, withModelUsage, type WritableProgress } from '../state.ts'
export type { Iteration, RunEnd, RunIdentity, RunLimits, RunStart } from '../state.ts'
export type { Eventually } from '../eventually.ts'
export { beginningOf } from './check-records.ts'
export { allowances, rankingOf, transitions, turnsBegun } from '../allowance.ts'
export { type AssistantEntry } from '../transcript.ts'
export { noProgressNudge } from '../guards/guard-texts.ts'
export { askPrices, usdOf, nanosOf, type PriceAnswer } from '../budget/prices.ts'
export { boundsOfGrant, mostOfGrant, type GrantBounds } from '../budget/recorded-amount.ts'
export { upperBoundOfMessages } from '../context/tokens.ts'
export { refuse, fieldsOf, shown, type Fields as GivenFields } from '../given.ts'
export { isDueToRemind } from '../guards/no-progress.ts'
export { maskedHash } from '../guards/masked-hash.ts'
export {
  defaultRemindAt,
  defaultRepeats,
  nearestCycle,
  waitMs,
  withNewest,
  turnHash,
  type Cycle as RepeatedCycle,
} from '../guards/recent-turns.ts'
export { answerStands, endOfAnswer } from '../verification/kept-answer.ts'
