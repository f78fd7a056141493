import { cleanUpSessions, isCleanUpDue } from '@halting/journal'
import { many, told } from '../io/figures.ts'
import type { Program } from '../program.ts'
import { whose } from './whose.ts'

/** Days that a session is kept without being touched, unless a setting says otherwise. */
const defaultDays = 30

/** Removes sessions that nobody touched for long, once a day, beside a run; what was removed is told in a line. */
export async function cleanUp(
  { cleanupPeriodDays: days = defaultDays }: CleanUpSettings,
  program: Program,
): Promise<void> {
  const place = whose(program)
  if (!(await isCleanUpDue(place))) return
  const { sessions } = await cleanUpSessions(place, { days })
  if (sessions > 0)
    program.output.err(
      told(`removed ${many(sessions, 'session')} not touched for ${many(days, 'day')} (cleanupPeriodDays).`),
    )
}

interface CleanUpSettings {
  readonly cleanupPeriodDays?: number
}
