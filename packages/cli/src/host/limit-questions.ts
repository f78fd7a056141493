import type { JsonObject, LimitAnswer, LimitRequest } from '@halting/core'
import { messageOf } from '@halting/core/adapters'
import type { Session, SessionEvent } from '@halting/core/session'
import type { Control } from './control.ts'

/** How often a host is asked whose answer is not taken. */
const maxTries = 3

/**
 * Has the host say whether a limit is raised at which a run pauses (spec R-PAUSE-12). A host that answers with an error, does not know the request or has
 * gone ends the run as the limit says. One whose answer is not taken is asked again, with the reason.
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

/** `raise_to`: the limit from here on, null for none; `end`: the run ends as the limit says. What is neither is refused by the session. */
function limitAnswerOf({ limit }: LimitRequest, given: JsonObject): LimitAnswer {
  const { raise_to: to, end } = given
  // The session holds it against what is asked, whatever it is.
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
