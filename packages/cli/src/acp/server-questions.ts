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
import { elicited } from '../frontends/elicited.ts'
import { declinedQuestion, formOf, misfitOf, noForm, pageQuestion, seenText } from '../frontends/elicitation-form.ts'
import { fieldsOf } from './fields.ts'
import { outcomeOf } from './permission.ts'

interface Asked {
  readonly server: string
  readonly request: ElicitationRequest
  readonly sessionId: string
  readonly signal: AbortSignal
}

interface Page extends Pick<Asked, 'sessionId' | 'signal'> {
  readonly message: string
  readonly url: string
}

const pageOptions: PermissionOption[] = [
  { optionId: 'open', kind: 'allow_once', name: 'I will open it' },
  { optionId: 'decline', kind: 'reject_once', name: 'Decline' },
]

/** Not every client answers a question that was withdrawn. */
function waitingFor(signal: AbortSignal) {
  return { cancellationSignal: signal, stopWaitingOnCancel: true } as const
}

interface Puts {
  readonly client: Pick<AgentContext, 'request' | 'notify'>
  readonly capabilities: Pick<ClientCapabilities, 'elicitation'>
  /** Tells the person in a sentence. */
  readonly note: (text: string) => void
}

/**
 * The questions of servers, put to the person as forms and pages of the client (spec R-ACP-16).
 *
 * Q1: one question is open at a time. Q2: it is withdrawn when its server waits no more, when the run that went on has ended, and when the session is closed.
 * Q3: what a client answers reaches a server only where it fits the form.
 */
export class ServerQuestions {
  readonly #puts: Puts
  /** Servers that a person was told of: each of them once. */
  readonly #told = new Set<string>()
  #session: Session | undefined
  #isOver = sharedAbort()
  #last: Promise<unknown> = Promise.resolve()
  #pages = 0

  constructor(puts: Puts) {
    this.#puts = puts
  }

  /** The session that the client knows by now. */
  attach(session: Session): void {
    this.#session = session
    session.listen(({ type }) => {
      if (type !== 'run_end' && type !== 'failed' && type !== 'closed') return
      this.#isOver.abort()
      this.#isOver = sharedAbort()
    })
  }

  readonly ask = (server: string, asked: ElicitationRequest, signal: AbortSignal): Promise<ElicitationAnswer> => {
    const within = anySignal([signal, this.#isOver.signal])
    const answer = this.#last.then(() => this.#put(server, asked, within))
    this.#last = answer
    return answer
  }

  /** Never rejects. */
  async #put(server: string, request: ElicitationRequest, signal: AbortSignal): Promise<ElicitationAnswer> {
    if (signal.aborted) return { action: 'cancel' }
    if (this.#session === undefined) return this.#declined(server, request, 'the session was not open yet')
    try {
      const asked = { server, request, sessionId: this.#session.id, signal }
      return await (request.mode === 'url' ? this.#openPage(asked) : this.#fillIn(asked))
    } catch (thrown) {
      if (signal.aborted) return { action: 'cancel' }
      return this.#declined(server, request, `the editor could not ask: ${messageOf(thrown)}`)
    }
  }

  async #fillIn({ server, request, sessionId, signal }: Asked): Promise<ElicitationAnswer> {
    const { client, capabilities } = this.#puts
    if ((capabilities.elicitation?.form ?? undefined) === undefined)
      return this.#declined(server, request, 'this editor does not support forms')
    const form = formOf(request.requestedSchema)
    if (form === undefined) return this.#declined(server, request, noForm)
    const shown = {
      mode: 'form',
      sessionId,
      message: `The server ${seenText(server)} asks: ${seenText(request.message)}`,
      requestedSchema: form,
      _meta: { 'halting/server': server },
    } as const
    const said: unknown = await client.request(methods.client.elicitation.create, shown, waitingFor(signal))
    const { action, content } = fieldsOf(said)
    const misfit = action === 'accept' ? misfitOf(form, fieldsOf(content)) : undefined
    if (misfit !== undefined)
      return this.#declined(server, request, `the answer of the editor does not match the form: ${misfit}`)
    return elicited(said)
  }

  /** By the editor's own view of an address, or as a question whose call shows it. */
  async #openPage({ server, request, sessionId, signal }: Asked): Promise<ElicitationAnswer> {
    const { client, capabilities } = this.#puts
    const { url = '', elicitationId = '', completed } = request
    const message = pageQuestion(server, request)
    if ((capabilities.elicitation?.url ?? undefined) === undefined)
      return { action: await this.#askAboutPage({ message, url, sessionId, signal }) }
    const shown = { mode: 'url', sessionId, message, url, elicitationId, _meta: { 'halting/server': server } } as const
    const said: unknown = await client.request(methods.client.elicitation.create, shown, waitingFor(signal))
    const finish = (): void =>
      void client.notify(methods.client.elicitation.complete, { elicitationId }).catch(() => undefined)
    if (completed?.aborted === true) finish()
    else completed?.addEventListener('abort', finish, { once: true })
    return { action: elicited(said).action }
  }

  async #askAboutPage({ message, url, sessionId, signal }: Page): Promise<ElicitationAnswer['action']> {
    const { client } = this.#puts
    const toolCallId = `halting-page-${++this.#pages}`
    const content = [{ type: 'content', content: { type: 'text', text: `${message}\n\n${seenText(url)}` } } as const]
    const toolCall = {
      toolCallId,
      title: `Open a page at ${new URL(url).host}?`,
      kind: 'other',
      status: 'pending',
      content,
    } as const
    const tell = (update: SessionUpdate): Promise<void> =>
      client.notify(methods.client.session.update, { sessionId, update })
    await tell({ sessionUpdate: 'tool_call', ...toolCall })
    let action: ElicitationAnswer['action'] = 'cancel'
    try {
      const asked = { sessionId, toolCall, options: pageOptions }
      const said = await client.request(methods.client.session.requestPermission, asked, waitingFor(signal))
      const outcome = outcomeOf(said, pageOptions)
      if (outcome.outcome === 'selected') action = outcome.optionId === 'open' ? 'accept' : 'decline'
    } finally {
      await tell({
        sessionUpdate: 'tool_call_update',
        toolCallId,
        status: action === 'accept' ? 'completed' : 'failed',
      })
    }
    return action
  }

  #declined(server: string, { message }: ElicitationRequest, because: string): ElicitationAnswer {
    const { note } = this.#puts
    if (!this.#told.has(server)) note(declinedQuestion(server, message, because))
    this.#told.add(server)
    return { action: 'decline' }
  }
}
