// Behind a dynamic import, so that a run that forks nothing does not load it.
export { forkSession, removeFork } from '@halting/journal'
