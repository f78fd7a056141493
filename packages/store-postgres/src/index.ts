export type { SessionStore } from '@halting/core/steps'
