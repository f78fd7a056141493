import {
  type AgentContext,
  type ClientCapabilities,
  methods,
  type PermissionOption,
  type SessionUpdate,
} from '@agentclientprotocol/sdk'
import type { ElicitationAnswer, ElicitationRequest } from '@halting/agent/mcp'
import type { Session } from '@halting/core/session'
import { anySignal, messageOf, sharedAbort } from '@halting/core/adapters'
import { readElicitationAnswer } from '../frontends/elicitation-answer.ts'
import {
  declinedQuestionText,
  readForm,
  formContentProblem,
  unsupportedFormReason,
  pageQuestionText,
  visibleText,
} from '../frontends/elicitation-form.ts'
import { fieldsOf } from './fields.ts'
import { outcomeOf } from './permission.ts'

interface ServerQuestion {
  readonly server: string
  readonly request: ElicitationRequest
  readonly sessionId: string
  readonly signal: AbortSignal
}

interface PageQuestion extends Pick<ServerQuestion, 'sessionId' | 'signal'> {
  readonly message: string
  readonly url: string
}

const pageOptions: PermissionOption[] = [
  { optionId: 'open', kind: 'allow_once', name: 'I will open it' },
  { optionId: 'decline', kind: 'reject_once', name: 'Decline' },
]

/** Waits for an answer or the withdrawal, because some clients never answer a withdrawn question. */
function waitingFor(signal: AbortSignal) {
  return { cancellationSignal: signal, stopWaitingOnCancel: true } as const
}

interface ServerQuestionsOptions {
  readonly client: Pick<AgentContext, 'request' | 'notify'>
  readonly capabilities: Pick<ClientCapabilities, 'elicitation'>
  /** Shows the person a sentence. */
  readonly note: (text: string) => void
}

/**
 * Presents questions of MCP servers as forms and pages of the client (spec R-ACP-16).
 *
 * Q1: one question is open at a time. Q2: a question is withdrawn when its server stops waiting, when the run ends, and when the session is closed.
 * Q3: an answer reaches the server only if it is valid for the form.
 */
export class ServerQuestions {
  readonly #options: ServerQuestionsOptions
  /** Servers whose declined questions were reported, once each. */
  readonly #notedServers = new Set<string>()
  #session: Session | undefined
  #runEnd = sharedAbort()
  #last: Promise<unknown> = Promise.resolve()
  #pages = 0

  constructor(puts: ServerQuestionsOptions) {
    this.#options = puts
  }

  /** Sets the session, once the client knows it. */
  attach(session: Session): void {
    this.#session = session
    session.listen(({ type }) => {
      if (type !== 'run_end' && type !== 'failed' && type !== 'closed') return
      this.#runEnd.abort()
      this.#runEnd = sharedAbort()
    })
  }

  readonly ask = (server: string, request: ElicitationRequest, signal: AbortSignal): Promise<ElicitationAnswer> => {
    const within = anySignal([signal, this.#runEnd.signal])
    const answer = this.#last.then(() => this.#present(server, request, within))
    this.#last = answer
    return answer
  }

  /** Never rejects. */
  async #present(server: string, request: ElicitationRequest, signal: AbortSignal): Promise<ElicitationAnswer> {
    if (signal.aborted) return { action: 'cancel' }
    if (this.#session === undefined) return this.#declined(server, request, 'the session was not open yet')
    try {
      const question = { server, request, sessionId: this.#session.id, signal }
      return await (request.mode === 'url' ? this.#openPage(question) : this.#fillIn(question))
    } catch (thrown) {
      if (signal.aborted) return { action: 'cancel' }
      return this.#declined(server, request, `the editor could not ask: ${messageOf(thrown)}`)
    }
  }

  async #fillIn({ server, request, sessionId, signal }: ServerQuestion): Promise<ElicitationAnswer> {
    const { client, capabilities } = this.#options
    if ((capabilities.elicitation?.form ?? undefined) === undefined)
      return this.#declined(server, request, 'this editor does not support forms')
    const form = readForm(request.requestedSchema)
    if (form === undefined) return this.#declined(server, request, unsupportedFormReason)
    const formRequest = {
      mode: 'form',
      sessionId,
      message: `The server ${visibleText(server)} asks: ${visibleText(request.message)}`,
      requestedSchema: form,
      _meta: { 'halting/server': server },
    } as const
    const response: unknown = await client.request(methods.client.elicitation.create, formRequest, waitingFor(signal))
    const { action, content } = fieldsOf(response)
    const problem = action === 'accept' ? formContentProblem(form, fieldsOf(content)) : undefined
    if (problem !== undefined)
      return this.#declined(server, request, `the answer of the editor does not match the form: ${problem}`)
    return readElicitationAnswer(response)
  }

  /** Presents an address by the client's own view, or as a permission request that shows the address. */
  async #openPage({ server, request, sessionId, signal }: ServerQuestion): Promise<ElicitationAnswer> {
    const { client, capabilities } = this.#options
    const { url = '', elicitationId = '', completed } = request
    const message = pageQuestionText(server, request)
    if ((capabilities.elicitation?.url ?? undefined) === undefined)
      return { action: await this.#askAboutPage({ message, url, sessionId, signal }) }
    const formRequest = {
      mode: 'url',
      sessionId,
      message,
      url,
      elicitationId,
      _meta: { 'halting/server': server },
    } as const
    const response: unknown = await client.request(methods.client.elicitation.create, formRequest, waitingFor(signal))
    const finish = (): void =>
      void client.notify(methods.client.elicitation.complete, { elicitationId }).catch(() => undefined)
    if (completed?.aborted === true) finish()
    else completed?.addEventListener('abort', finish, { once: true })
    return { action: readElicitationAnswer(response).action }
  }

  async #askAboutPage({ message, url, sessionId, signal }: PageQuestion): Promise<ElicitationAnswer['action']> {
    const { client } = this.#options
    const toolCallId = `halting-page-${++this.#pages}`
    const content = [{ type: 'content', content: { type: 'text', text: `${message}\n\n${visibleText(url)}` } } as const]
    const toolCall = {
      toolCallId,
      title: `Open a page at ${new URL(url).host}?`,
      kind: 'other',
      status: 'pending',
      content,
    } as const
    const sendUpdate = (update: SessionUpdate): Promise<void> =>
      client.notify(methods.client.session.update, { sessionId, update })
    await sendUpdate({ sessionUpdate: 'tool_call', ...toolCall })
    let action: ElicitationAnswer['action'] = 'cancel'
    try {
      const request = { sessionId, toolCall, options: pageOptions }
      const response = await client.request(methods.client.session.requestPermission, request, waitingFor(signal))
      const outcome = outcomeOf(response, pageOptions)
      if (outcome.outcome === 'selected') action = outcome.optionId === 'open' ? 'accept' : 'decline'
    } finally {
      await sendUpdate({
        sessionUpdate: 'tool_call_update',
        toolCallId,
        status: action === 'accept' ? 'completed' : 'failed',
      })
    }
    return action
  }

  #declined(server: string, { message }: ElicitationRequest, because: string): ElicitationAnswer {
    const { note } = this.#options
    if (!this.#notedServers.has(server)) note(declinedQuestionText(server, message, because))
    this.#notedServers.add(server)
    return { action: 'decline' }
  }
}
