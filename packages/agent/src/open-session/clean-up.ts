import type { SessionPorts } from './ports.ts'
import { cleanUpSessions, isCleanUpDue } from '@halting/journal'
import { whose } from './whose.ts'

/** Days that a session is kept without being touched, unless a setting says otherwise. */
const defaultDays = 30

/** Removes sessions that nobody touched for long, once a day, beside a run; what was removed is told in a line. */
export async function cleanUp(
  { cleanupPeriodDays: days = defaultDays }: CleanUpSettings,
  ports: SessionPorts,
): Promise<void> {
  const place = whose(ports)
  if (!(await isCleanUpDue(place))) return
  const { sessions } = await cleanUpSessions(place, { days })
  if (sessions > 0) ports.note(ports.wordNotice({ kind: 'sessions_removed', sessions, days }))
}

interface CleanUpSettings {
  readonly cleanupPeriodDays?: number
}
