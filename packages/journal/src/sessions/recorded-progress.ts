// Behind a dynamic import, so that a run that lists no sessions does not load it.
export { recordedProgress } from '@halting/core/steps'
