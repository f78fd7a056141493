export {
  checkStepEngine,
  type StepEngineCheckOptions,
  type StepEngineProblem,
  type CheckedStore,
} from './check-driver.ts'
export {
  checkSessionStore,
  type CheckedConnection,
  type CheckedSessionStore,
  type SessionStoreCheckOptions,
} from './check-session-store.ts'
export type { CheckedSession } from './driver-worker.ts'
export * from './fake-clock.ts'
export * from './scripted-model.ts'
export * from './validate-transcript.ts'
