import type { Death } from './deaths.ts'

const numbers = ['no', 'one', 'two', 'three', 'four', 'five']

/** The object that knows the attempts at the work of a session, which is its key. */
export const attemptsObject = 'halting_attempts'

/** There, in that object, while the session is set aside. Whoever lists sessions reads it by the engine's query language. */
export const setAsideKey = 'set_aside'

/** Why a session is set aside, as a clause. `deaths`: of its workers, the oldest first. */
export function whySetAside(deaths: readonly Pick<Death, 'worker' | 'atMs'>[]): string {
  const last = deaths.at(-1)
  const count = numbers[deaths.length] ?? String(deaths.length)
  if (last === undefined) return `its work has ended ${count} workers`
  const at = `${new Date(last.atMs).toISOString().slice(0, 16).replace('T', ' ')} UTC`
  return `its work has ended ${count} workers (last: ${last.worker === null ? at : `${last.worker}, at work since ${at}`})`
}

/** What people are told of it. `because`: a clause. */
export function setAsideMessage(sessionId: string, because: string): string {
  // Whoever began the session chose its id, and a person pastes the command into a shell.
  const id = /^\w[\w.:-]*$/.test(sessionId) ? sessionId : 'ID'
  return `This session is set aside: ${because}. Release it with: halting sessions release ${id} --cluster URL`
}

/** What the engine is told of work at a session that is set aside. */
export class SetAsideError extends Error {
  constructor(sessionId: string, deaths: readonly Death[]) {
    super(setAsideMessage(sessionId, whySetAside(deaths)))
    this.name = 'SetAsideError'
  }
}

/** What people are told of it, where that is what the engine was told of the last attempt. */
export function setAsideIn(failure: string | null): string | undefined {
  return /This session is set aside: [^\n]*/.exec(failure ?? '')?.[0]
}
