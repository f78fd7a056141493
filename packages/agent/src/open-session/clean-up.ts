import type { SessionPorts } from './ports.ts'
import { cleanUpSessions, isCleanUpDue } from '@halting/journal'
import { sessionScope } from './session-scope.ts'

/** Default number of days after which an unused session is removed. */
const defaultDays = 30

/**
 * Removes sessions that have not been used for long, once a day, in parallel to a run. Reports the number of removed
 * sessions in one line.
 */
export async function cleanUp(
  { cleanupPeriodDays: days = defaultDays }: CleanUpSettings,
  ports: SessionPorts,
): Promise<void> {
  const place = sessionScope(ports)
  if (!(await isCleanUpDue(place))) return
  const { sessions } = await cleanUpSessions(place, { days })
  if (sessions > 0) ports.note(ports.wordNotice({ kind: 'sessions_removed', sessions, days }))
}

interface CleanUpSettings {
  readonly cleanupPeriodDays?: number
}
