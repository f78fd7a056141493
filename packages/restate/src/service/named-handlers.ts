import type { JsonObject } from '@halting/core'
import { deniedByUser } from '@halting/core/adapters'
import { handlers, type ObjectSharedContext } from '@restatedev/restate-sdk'
import { badInput, checkFields, checkRequest } from './check-input.ts'
import type { RequestSizeLimit } from './check-request.ts'
import type { PushRequest, SessionRequest } from './messages.ts'
import type { SessionStatus } from './status.ts'

/** A request was accepted. */
export interface AcceptedRequest {
  /** Its id, by which the outcome can be requested. */
  readonly id: string
  /** False for a repeated request, and for one that has no effect now. */
  readonly isNew: boolean
}

export interface NamedHandlersOptions {
  readonly push: (context: ObjectSharedContext, request: PushRequest) => Promise<boolean>
  readonly status: (context: ObjectSharedContext) => Promise<SessionStatus>
  readonly size: RequestSizeLimit
}

type Handler = (context: ObjectSharedContext, input: unknown) => Promise<AcceptedRequest>

/** Fields that each of them accepts in addition to those of its request. */
const common = ['id', 'opening']

type NamedRequests =
  | 'prompt'
  | 'steer'
  | 'followUp'
  | 'interrupt'
  | 'stop'
  | 'resume'
  | 'compact'
  | 'approve'
  | 'deny'
  | 'setLimits'
  | 'close'

/** A handler for each kind of request, for callers that only have the ingress: `POST /halting_session/KEY/prompt` with `{ "content": "…" }`. */
export function namedHandlers({ push, status, size }: NamedHandlersOptions): {
  readonly [name in NamedRequests]: Handler
} {
  const handler = (
    takes: readonly string[],
    requestOf: (fields: JsonObject, context: ObjectSharedContext) => JsonObject | Promise<JsonObject>,
  ) => {
    const handle: Handler = async (context, given) => {
      const input = checkFields(given, [...common, ...takes])
      const { id = context.rand.uuidv4(), opening, ...fields } = input
      const named = { id, request: await requestOf(fields, context), ...(opening !== undefined && { opening }) }
      const request = checkRequest(named, size)
      return { id: request.id, isNew: await push(context, request) }
    }
    return handlers.object.shared(handle)
  }

  /** Answers a permission request: of a run that still waits, or of a run that ended to wait for approval. */
  const decisionHandler = (fields: readonly string[], decision: (input: JsonObject) => JsonObject) =>
    handler(['callId', ...fields], async ({ callId, ...input }, context) => {
      if (typeof callId !== 'string') throw badInput('Give the callId of the call.')
      const answer = decision(input)
      const { state, reason } = await status(context)
      const isOver = state === 'idle' && reason === 'needs_approval'
      return isOver ? { type: 'approve', approvals: { [callId]: answer } } : { type: 'answer', callId, answer }
    })

  const requestHandler = (type: SessionRequest['type'], takes: readonly string[], more: JsonObject = {}) =>
    handler(takes, (fields) => ({ type, ...fields, ...more }))

  return {
    prompt: requestHandler('prompt', ['content', 'when']),
    steer: requestHandler('prompt', ['content'], { when: 'next' }),
    followUp: requestHandler('prompt', ['content'], { when: 'later' }),
    interrupt: requestHandler('interrupt', ['because', 'queue']),
    stop: requestHandler('stop', ['message']),
    resume: requestHandler('resume', ['limits']),
    compact: requestHandler('compact', ['instructions']),
    approve: decisionHandler(['updatedInput'], (input) => ({ behavior: 'allow', ...input })),
    deny: decisionHandler(['message'], ({ message = deniedByUser }) => ({ behavior: 'deny', message })),
    setLimits: handler(['limits'], ({ limits }) => {
      if (limits === undefined) throw badInput('Give the limits: { "limits": { "maxTurns": 20 } }.')
      return { type: 'set', change: { limits } }
    }),
    close: requestHandler('close', []),
  }
}
