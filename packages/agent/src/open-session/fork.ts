// Behind a dynamic import, so that a run that forks nothing does not load it.
export { forkSession, removeFork } from '../session/fork-session.ts'
export { programNames } from '../session/foreign/session.ts'
export { takeOver } from '../session/foreign/take-over.ts'
