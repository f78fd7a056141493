// Behind a dynamic import, so that a run that goes back over nothing does not load it.
export { personsMessages, placeOfMessage, rewindRecord } from '@halting/core/steps'
