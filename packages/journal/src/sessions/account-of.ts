// Behind a dynamic import, so that a run that lists no sessions does not load it.
export { accountOf } from '@halting/core/steps'
