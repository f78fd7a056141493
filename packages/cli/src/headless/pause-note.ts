import type { RunEvent } from '@halting/core'
import { longRetryText, serviceWaitText, serviceWaitOf } from '../frontends/wait-text.ts'
import { oneLine } from '../io/figures.ts'

/** What a person should know of a run that stands still for more than some seconds: why, and when it goes on (spec R-SERV-15). Undefined for any other event. */
export function pauseNote(event: RunEvent, now: number): string | undefined {
  if (event.type === 'service_wait' && event.isWaiting)
    return `${serviceWaitText(serviceWaitOf(event), now)}; continues automatically`
  if (event.type !== 'retry') return undefined
  const when = longRetryText(event, now)
  if (when === undefined) return undefined
  const { attempt, maxRetries, error } = event
  return `${oneLine(error.message, 300)} (retry ${attempt} of ${maxRetries} ${when})`
}
