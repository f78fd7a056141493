import type { JsonObject } from '@halting/core'
import { InvalidAnswer, isJsonObject, messageOf, answerProblem, type PermissionAnswer } from '@halting/core/adapters'
import type { Question, Session, SessionEvent } from '@halting/core/session'
import { mcpNameOf } from '../io/mcp-name.ts'
import { unconfinedRemark } from '../frontends/unconfined-remark.ts'
import { revealHidden } from '../io/reveal-hidden.ts'
import { type Control, ControlError } from './control.ts'

/**
 * Forwards permission requests to the host (spec R-HOST-10).
 *
 * Q1: every request is sent once and answered once: by the host, by a failure of the host, or because the host has disconnected. A failure and a disconnected host deny the call.
 * Q2: a request that is no longer needed is cancelled, and a later answer is ignored.
 */
export function answerByHost(
  session: Pick<Session, 'listen' | 'answer' | 'snapshot'>,
  control: Pick<Control, 'request'>,
  about: (question: Question) => JsonObject = () => ({}),
): () => void {
  const open = new Map<string, AbortController>()
  const ask = async (question: Question): Promise<void> => {
    const withdrawn = new AbortController()
    open.set(question.id, withdrawn)
    const asking = control.request({ ...requestOf(question), ...about(question) }, { signal: withdrawn.signal })
    const answer = await awaitAnswer(asking, question)
    open.delete(question.id)
    if (answer !== undefined) session.answer(question.id, answer)
  }
  const onEvent = (event: SessionEvent): void => {
    if (event.type === 'question') void ask(event.question)
    else if (event.type === 'question_closed') open.get(event.id)?.abort()
  }
  const stop = session.listen(onEvent)
  for (const question of session.snapshot.questions) void ask(question)
  return stop
}

/** The control request for one permission request. */
function requestOf(question: Question): JsonObject {
  const { toolName, input, callId, reason, reasonType, blockedPath, suggestions, agentId } = question
  const { description } = input
  const why = [revealHidden(reason), unconfinedRemark(question)].filter((text) => text !== undefined && text !== '')
  return {
    subtype: 'can_use_tool',
    tool_name: toolName,
    display_name: displayName(toolName),
    input,
    tool_use_id: callId,
    ...(typeof description === 'string' && description.trim() !== '' && { description }),
    ...(suggestions.length > 0 && { permission_suggestions: suggestions }),
    ...(why.length > 0 && { decision_reason: why.join(' ') }),
    ...(reasonType !== undefined && { decision_reason_type: reasonType }),
    ...(blockedPath !== undefined && { blocked_path: blockedPath }),
    ...(agentId !== undefined && { agent_id: agentId }),
  }
}

function displayName(toolName: string): string {
  const called = mcpNameOf(toolName)
  return called === undefined ? toolName : `${called.server}: ${called.tool}`
}

/** Undefined if nobody waits for the answer any more. */
async function awaitAnswer(request: Promise<JsonObject>, { callId }: Question): Promise<PermissionAnswer | undefined> {
  try {
    const response = await request
    // The answer contains the id of its call, so that it does not approve another call.
    if ((response['toolUseID'] ?? callId) !== callId)
      return new InvalidAnswer(
        'The answer to can_use_tool is for another call: toolUseID differs from its tool_use_id.',
      )
    return permissionAnswer(response)
  } catch (thrown) {
    if (thrown instanceof ControlError && thrown.code === 'withdrawn') return undefined
    return { behavior: 'deny', message: messageOf(thrown) }
  }
}

/** Validates an answer. For an invalid one, the result of the run reports the problem to the host. */
function permissionAnswer(response: JsonObject): PermissionAnswer {
  const { updatedPermissions: updates } = response
  const answer = Array.isArray(updates)
    ? { ...response, updatedPermissions: updates.map(withoutCliDestination) }
    : response
  const problem = answerProblem(answer)
  if (problem !== undefined) return new InvalidAnswer(`can_use_tool: ${problem}`)
  // This cast is safe: the shape was checked; core validates every field (R-ASK-2).
  return answer as unknown as PermissionAnswer
}

/** A rule with the destination of the command line ends with the process, so it becomes a rule of the session. */
function withoutCliDestination<T>(update: T): T | JsonObject {
  return isJsonObject(update) && update['destination'] === 'cliArg' ? { ...update, destination: 'session' } : update
}
