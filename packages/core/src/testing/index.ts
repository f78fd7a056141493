export { checkStepEngine, type StepEngineCheckOptions, type CheckedStore } from './check-step-engine.ts'
export {
  checkSessionStore,
  type CheckedConnection,
  type CheckedSessionStore,
  type SessionStoreCheckOptions,
} from './check-session-store.ts'
export type { CheckedSession } from './step-engine-child.ts'
export {
  expectRun,
  RunAssertionError,
  type EndedRunSubject,
  type RunExpectations,
  type RunLimitsExpected,
} from './expect-run.ts'
export * from './fake-clock.ts'
export type { InputMatcher } from './input-matcher.ts'
export type { StepEngineProblem } from './run-checks.ts'
export * from './scripted-model.ts'
export * from '../conversation/transcript-problems.ts'
