import type { Death } from './deaths.ts'

const numbers = ['no', 'one', 'two', 'three', 'four', 'five']

/** Name of the object that counts attempts. Its key is the session. */
export const attemptsObject = 'halting_attempts'

/** Key in that object that is set while the session is set aside. Lists of sessions read it by the engine's query language. */
export const setAsideKey = 'set_aside'

/** Why a session is set aside, as a clause. `deaths`: deaths of its workers, the oldest first. */
export function setAsideReason(deaths: readonly Pick<Death, 'worker' | 'atMs'>[]): string {
  const last = deaths.at(-1)
  const count = numbers[deaths.length] ?? String(deaths.length)
  if (last === undefined) return `its work has ended ${count} workers`
  const at = `${new Date(last.atMs).toISOString().slice(0, 16).replace('T', ' ')} UTC`
  return `its work has ended ${count} workers (last: ${last.worker === null ? at : `${last.worker}, at work since ${at}`})`
}

/** Message for people. `because`: a clause. */
export function setAsideMessage(sessionId: string, because: string): string {
  // The id comes from the caller that created the session, and people paste this command into a shell.
  const id = /^\w[\w.:-]*$/.test(sessionId) ? sessionId : 'ID'
  return `This session is set aside: ${because}. Release it with: halting sessions release ${id} --cluster URL`
}

/** Reported to the engine when an attempt finds that its session is set aside. */
export class SetAsideError extends Error {
  constructor(sessionId: string, deaths: readonly Death[]) {
    super(setAsideMessage(sessionId, setAsideReason(deaths)))
    this.name = 'SetAsideError'
  }
}

/** The message for people, if the last attempt failed because the session is set aside. */
export function findSetAsideMessage(failure: string | null): string | undefined {
  return /This session is set aside: [^\n]*/.exec(failure ?? '')?.[0]
}
