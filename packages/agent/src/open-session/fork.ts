// Behind a dynamic import, so that runs without a fork do not load it.
export { forkSession, removeFork } from '@halting/journal'
