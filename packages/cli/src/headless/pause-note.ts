import type { RunEvent } from '@halting/core'
import { longRetryText, serviceWaitText, serviceWaitOf } from '../frontends/wait-text.ts'
import { oneLine } from '../io/figures.ts'

/** A note on a run that pauses for more than a few seconds: why, and when it continues (spec R-SERV-15). Undefined for other events. */
export function pauseNote(event: RunEvent, now: number): string | undefined {
  if (event.type === 'service_wait' && event.isWaiting)
    return `${serviceWaitText(serviceWaitOf(event), now)}; continues automatically`
  if (event.type !== 'retry') return undefined
  const when = longRetryText(event, now)
  if (when === undefined) return undefined
  const { attempt, maxRetries, error } = event
  return `${oneLine(error.message, 300)} (retry ${attempt} of ${maxRetries} ${when})`
}
