// Behind a dynamic import, so that a session that lists no other does not load it.
export { summariesOf } from '@halting/analysis/sessions'
