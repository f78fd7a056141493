// A module of its own, so that a dynamic import loads it only when sessions are listed.
export { summariesOf } from '@halting/analysis/sessions'
