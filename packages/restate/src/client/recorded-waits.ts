import type { SessionSnapshot } from '@halting/core/session'
import type { OpenWait } from '../service/status.ts'

/** The key of a step of the run itself: those of agents have the names of their calls before it. */
const ofRun = /^[^/]+\/[^/]+$/

/** What is shown of a session whose waits for services are on record, and of which no worker tells: what the services said is not known. The same where nothing differs. */
export function withRecordedWaits(told: SessionSnapshot, waits: readonly OpenWait[]): SessionSnapshot {
  const { serviceWaits, activity, model } = told
  const isSame =
    waits.length === serviceWaits.length &&
    waits.every(({ sinceMs }) => serviceWaits.some((known) => known.sinceMs === sinceMs))
  if (isSame) return told
  const shown = waits.map(({ key, sinceMs, untilMs }) => {
    const known = serviceWaits.find((wait) => wait.sinceMs === sinceMs)
    return known ?? { callIds: ofRun.test(key) ? [] : [key], model, sinceMs, untilMs, error: '', message: '' }
  })
  const own = shown.find(({ callIds }) => callIds.length === 0)
  const before: SessionSnapshot['activity'] = activity.type === 'service_wait' ? { type: 'asking', model } : activity
  return { ...told, serviceWaits: shown, activity: own === undefined ? before : { type: 'service_wait', ...own } }
}
