import {
  type AgentContext,
  type ClientCapabilities,
  methods,
  type RequestPermissionOutcome,
  type RequestPermissionRequest,
  type CreateElicitationRequest,
} from '@agentclientprotocol/sdk'
import type { LimitAnswer, LimitRequest } from '@halting/core'
import type { Question, Session, SessionEvent } from '@halting/core/session'
import { checkedLimitAnswer, messageOf, type PermissionAnswer, userDidNotAnswer } from '@halting/core/adapters'
import type { EventUpdates } from './event-updates.ts'
import { revealHidden } from '../io/reveal-hidden.ts'
import { fieldsOf } from './fields.ts'
import type { Outbox } from './outbox.ts'
import { unconfinedRemark } from '../frontends/unconfined-remark.ts'
import { textContent } from './tool-view.ts'
import { limitQuestion, limitReason, offerLabel } from '../frontends/limit-question.ts'
import {
  answerOf,
  limitAnswerOf,
  limitOptions,
  optionsFor,
  outcomeOf,
  rejection,
  denialWithoutAsking,
} from './permission.ts'
import { personQuestionsIn, type PersonQuestion } from '../frontends/person-questions.ts'
import { answersOfForm, choiceOf, choicesFor, formFor } from './person-questions.ts'
import { settableLimits } from '../frontends/settable-limits.ts'

const maxLimitForms = 3

interface ClientQuestionsOptions {
  readonly session: Session
  readonly client: AgentContext
  readonly capabilities: ClientCapabilities
  readonly updates: EventUpdates
  readonly outbox: Outbox
}

/** Forwards the questions of a session to the client, and the answers back (spec R-ACP-7). */
export class ClientQuestions {
  readonly #options: ClientQuestionsOptions
  /** Pending questions, by id. */
  readonly #open = new Map<string, AbortController>()
  /** How many questions about limits were asked. */
  #limitQuestionCount = 0
  /** Calls that the person chose to always reject, by tool name and input. */
  readonly #rejected = new Set<string>()

  constructor(asks: ClientQuestionsOptions) {
    this.#options = asks
  }

  onEvent(event: SessionEvent): void {
    if (event.type === 'question') void this.#answer(event.question)
    if (event.type === 'question_closed' || event.type === 'limit_question_closed') this.#open.get(event.id)?.abort()
    if (event.type === 'limit_question') void this.#answerLimit(event.request)
  }

  async #answer(question: Question): Promise<void> {
    const controller = new AbortController()
    this.#open.set(question.id, controller)
    try {
      const answer = await this.#ask(question, controller.signal)
      this.#options.session.answer(question.id, answer)
    } catch (thrown) {
      // After the question was withdrawn, nobody waits for the answer.
      if (!controller.signal.aborted) this.#options.session.answer(question.id, denialWithoutAsking(messageOf(thrown)))
    } finally {
      this.#open.delete(question.id)
    }
  }

  async #ask(question: Question, signal: AbortSignal): Promise<PermissionAnswer> {
    const { updates, outbox } = this.#options
    const { agentId, toolName, input } = question
    const announced = updates.announceQuestion(question)
    outbox.push(...announced.updates)
    // The client must know the call before it is asked about it.
    await outbox.flush()
    const personQuestions = toolName === 'AskUserQuestion' ? personQuestionsIn(input) : []
    if (personQuestions.length > 0) return this.#askPerson(question, personQuestions, announced.id, signal)
    const sameCall = `${toolName} ${JSON.stringify(input)}`
    if (this.#rejected.has(sameCall)) return rejection
    const { title, kind, locations, content: callContent } = announced.view
    const remark = unconfinedRemark(question)
    const content = remark === undefined ? callContent : [textContent(remark), ...callContent]
    const outcome = await this.#request(
      {
        toolCall: { toolCallId: announced.id, title, kind, status: 'pending', locations, content, rawInput: input },
        options: optionsFor(question),
        _meta: {
          'halting/question': {
            reason: [revealHidden(question.reason), ...(remark === undefined ? [] : [remark])].join(' '),
            toolName,
            ...(agentId !== undefined && { agentId }),
          },
        },
      },
      signal,
    )
    const { answer, rejectsAlways } = answerOf(outcome, question)
    if (rejectsAlways) this.#rejected.add(sameCall)
    return answer
  }

  /** Asks whether to raise a limit. The question is shown as a call, because clients ask about calls. Without an answer the run ends at the limit. */
  async #answerLimit(request: LimitRequest): Promise<void> {
    const { session, outbox } = this.#options
    const controller = new AbortController()
    this.#open.set(request.id, controller)
    const toolCallId = `halting-limit-${++this.#limitQuestionCount}`
    const title = limitQuestion(request)
    const text = limitReason(request)
    const content = [{ type: 'content', content: { type: 'text', text } } as const]
    outbox.push({ sessionUpdate: 'tool_call', toolCallId, title, kind: 'other', status: 'pending', content })
    let answer: LimitAnswer = { end: true }
    try {
      await outbox.flush()
      const { signal } = controller
      // Settles when the question is withdrawn, because some clients never answer a withdrawn question.
      const withdrawn = new Promise<never>((_, reject) =>
        signal.addEventListener('abort', () => reject(new Error('withdrawn'))),
      )
      const answered = this.#hasForms
        ? this.#limitByForm(request, { toolCallId, message: `${title} ${text}` }, signal)
        : this.#limitByOptions(request, { toolCallId, title }, signal)
      answer = await Promise.race([answered, withdrawn])
    } catch {
      // The answer was withdrawn, so nobody waits for it; a client that cannot ask ends the run at the limit.
    }
    this.#open.delete(request.id)
    const isRaised = answer.end !== true && !controller.signal.aborted
    outbox.push({ sessionUpdate: 'tool_call_update', toolCallId, status: isRaised ? 'completed' : 'failed' })
    if (!controller.signal.aborted) session.answerLimit(request.id, answer)
  }

  get #hasForms(): boolean {
    return (this.#options.capabilities.elicitation?.form ?? undefined) !== undefined
  }

  async #limitByOptions(
    request: LimitRequest,
    about: { readonly toolCallId: string; readonly title: string },
    signal: AbortSignal,
  ): Promise<LimitAnswer> {
    const toolCall = { ...about, kind: 'other', status: 'pending' } as const
    return limitAnswerOf(request, await this.#request({ toolCall, options: limitOptions(request) }, signal))
  }

  /** Asks again after an invalid value, up to three times in all. */
  async #limitByForm(
    request: LimitRequest,
    { toolCallId, message }: { readonly toolCallId: string; readonly message: string },
    signal: AbortSignal,
  ): Promise<LimitAnswer> {
    const { session, client } = this.#options
    let problem = ''
    for (let time = 0; time < maxLimitForms; time++) {
      const form = limitForm(request, { sessionId: session.id, toolCallId, message: `${problem} ${message}`.trim() })
      const response: unknown = await client.request(methods.client.elicitation.create, form, {
        cancellationSignal: signal,
      })
      try {
        const read = limitAnswerOfForm(request, response)
        if (typeof read !== 'string') return checkedLimitAnswer(request, read)
        problem = read
      } catch (thrown) {
        problem = messageOf(thrown)
      }
    }
    return { end: true }
  }

  /** Questions of the model: as one form, or one after another. */
  async #askPerson(
    question: Question,
    personQuestions: readonly PersonQuestion[],
    toolCallId: string,
    signal: AbortSignal,
  ): Promise<PermissionAnswer> {
    const { session, client } = this.#options
    if (this.#hasForms) {
      const form = formFor(personQuestions, { sessionId: session.id, toolCallId })
      const response: unknown = await client.request(methods.client.elicitation.create, form, {
        cancellationSignal: signal,
      })
      const { action, content } = fieldsOf(response)
      if (action !== 'accept') return { behavior: 'deny', message: userDidNotAnswer }
      return {
        behavior: 'allow',
        updatedInput: { ...question.input, answers: answersOfForm(personQuestions, content) },
      }
    }
    const answers: [question: string, answer: string][] = []
    for (const one of personQuestions) {
      const outcome = await this.#request(
        { toolCall: { toolCallId, title: one.question, kind: 'other', status: 'pending' }, options: choicesFor(one) },
        signal,
      )
      if (outcome.outcome === 'cancelled') return answerOf(outcome, question).answer
      answers.push([one.question, choiceOf(one, outcome.optionId)])
    }
    return { behavior: 'allow', updatedInput: { ...question.input, answers: Object.fromEntries(answers) } }
  }

  async #request(
    request: Omit<RequestPermissionRequest, 'sessionId'>,
    signal: AbortSignal,
  ): Promise<RequestPermissionOutcome> {
    const { session, client } = this.#options
    const params = { ...request, sessionId: session.id }
    const response = await client.request(methods.client.session.requestPermission, params, {
      cancellationSignal: signal,
    })
    return outcomeOf(response, request.options)
  }
}

interface LimitForm {
  readonly sessionId: string
  readonly toolCallId: string
  readonly message: string
}

/** The question at a limit as a form: each offer, the end, or another value. */
function limitForm({ limit, offers }: LimitRequest, about: LimitForm): CreateElicitationRequest {
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

/** The answer of the form; a string describes a problem. Anything but a value ends the run. */
function limitAnswerOfForm({ limit, offers }: LimitRequest, response: unknown): LimitAnswer | string {
  const { action, content } = fieldsOf(response)
  const { choice, other } = action === 'accept' ? fieldsOf(content) : {}
  if (typeof other === 'string' && other.trim() !== '') {
    const read = settableLimits[limit].parse(other.trim())
    return 'value' in read ? { raise: { [limit]: read.value } } : `Give ${read.expected}.`
  }
  const offer = offers.find(({ to }) => `raise:${to}` === choice)
  return offer === undefined ? { end: true } : { raise: { [limit]: offer.to } }
}
