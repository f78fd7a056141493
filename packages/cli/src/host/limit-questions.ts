import type { JsonObject, LimitAnswer, LimitRequest } from '@halting/core'
import { messageOf } from '@halting/core/adapters'
import type { Session, SessionEvent } from '@halting/core/session'
import type { Control } from './control.ts'

/** Maximum number of times that a host is asked if its answers are rejected. */
const maxTries = 3

/**
 * Asks the host whether to raise the limit at which a run paused (spec R-PAUSE-12). If the host refuses, does not know
 * the request or has disconnected, the run ends at the limit. A host whose answer is rejected is asked again, with the
 * reason.
 */
export function answerLimitsByHost(
  session: Pick<Session, 'listen' | 'answerLimit' | 'snapshot'>,
  control: Pick<Control, 'request'>,
): () => void {
  let asking: { readonly id: string; readonly taken: AbortController } | undefined
  const ask = async (request: LimitRequest): Promise<void> => {
    if (asking?.id === request.id) return
    const taken = new AbortController()
    asking = { id: request.id, taken }
    await answerByHost(session, control, request, taken.signal)
    if (asking.taken === taken) asking = undefined
  }
  const onEvent = (event: SessionEvent): void => {
    if (event.type === 'limit_question') void ask(event.request)
    else if (event.type === 'limit_question_closed' && event.id === asking?.id) asking.taken.abort()
  }
  const stop = session.listen(onEvent)
  const { limitQuestion } = session.snapshot
  if (limitQuestion !== null) void ask(limitQuestion)
  return stop
}

async function answerByHost(
  session: Pick<Session, 'answerLimit'>,
  control: Pick<Control, 'request'>,
  request: LimitRequest,
  signal: AbortSignal,
): Promise<void> {
  let problem: string | undefined
  for (let tries = 1; tries <= maxTries && !signal.aborted; tries++) {
    let given: JsonObject
    try {
      given = await control.request(requestOf(request, problem), { signal })
    } catch {
      break
    }
    try {
      session.answerLimit(request.id, limitAnswerOf(request, given))
      return
    } catch (thrown) {
      problem = messageOf(thrown)
    }
  }
  if (!signal.aborted) session.answerLimit(request.id, { end: true })
}

/** `raise_to`: the new limit, null for none; `end`: the run ends at the limit. The session rejects anything else. */
function limitAnswerOf({ limit }: LimitRequest, given: JsonObject): LimitAnswer {
  const { raise_to: to, end } = given
  // The session validates the answer.
  return (to === undefined ? { end } : { raise: { [limit]: to }, ...(end !== undefined && { end }) }) as LimitAnswer
}

function requestOf(
  { limit, used, of, needed, most, offers, message, sinceMs, untilMs }: LimitRequest,
  problem?: string,
): JsonObject {
  return {
    subtype: 'limit_reached',
    limit,
    used,
    of,
    ...(needed !== undefined && { needed }),
    most,
    offers: offers.map(({ to }) => to),
    message,
    since: new Date(sinceMs).toISOString(),
    until: untilMs === null ? null : new Date(untilMs).toISOString(),
    ...(problem !== undefined && { problem }),
  }
}
