import type { CreateElicitationRequest } from '@agentclientprotocol/sdk'
import type { LimitAnswer, LimitRequest } from '@halting/core'
import { offerLabel } from '../frontends/limit-question.ts'
import { settableLimits } from '../frontends/settable-limits.ts'
import { fieldsOf } from './fields.ts'

interface LimitForm {
  readonly sessionId: string
  readonly toolCallId: string
  readonly message: string
}

/** The question at a limit as a form: each offer, the end, or another value. */
export function limitForm({ limit, offers }: LimitRequest, about: LimitForm): CreateElicitationRequest {
  const raises = offers.map(({ to }) => ({ const: `raise:${to}`, title: offerLabel({ limit }, to) }))
  return {
    mode: 'form',
    ...about,
    requestedSchema: {
      type: 'object',
      properties: {
        choice: { type: 'string', title: 'Limit', oneOf: [...raises, { const: 'end', title: 'Stop here' }] },
        other: { type: 'string', title: 'Another value', description: 'Used in place of the choice above' },
      },
    },
  }
}

/** What was answered; a text says what is wrong with it. Anything but a value ends the run. */
export function limitAnswerOfForm({ limit, offers }: LimitRequest, said: unknown): LimitAnswer | string {
  const { action, content } = fieldsOf(said)
  const { choice, other } = action === 'accept' ? fieldsOf(content) : {}
  if (typeof other === 'string' && other.trim() !== '') {
    const read = settableLimits[limit].read(other.trim())
    return 'value' in read ? { raise: { [limit]: read.value } } : `Give ${read.expected}.`
  }
  const offer = offers.find(({ to }) => `raise:${to}` === choice)
  return offer === undefined ? { end: true } : { raise: { [limit]: offer.to } }
}
