import type { NumberedRequest } from './messages.ts'

/**
 * Requests that came to an invocation while it awaited something else, such as its state: the engine tells the last of them alone. Numbers go up by one (M3 of mailbox.ts), so a gap
 * tells of those before it, which still wait in the mailbox.
 * @param mail What the invocation knows already.
 * @param waiting Asks the mailbox for what waits behind a number.
 */
export function missedMail(
  mail: readonly NumberedRequest[],
  waiting: (after: number) => Promise<readonly NumberedRequest[]>,
): (message: string) => Promise<readonly string[]> {
  let upTo = mail.at(-1)?.number ?? 0
  return async (message) => {
    // Only the mailbox sends them.
    const { number } = JSON.parse(message) as NumberedRequest
    const after = upTo
    upTo = Math.max(upTo, number)
    if (number <= after + 1) return []
    const all = await waiting(after)
    return all.filter((request) => request.number < number).map((request) => JSON.stringify(request))
  }
}
