import { type AgentContext, type ClientCapabilities, methods } from '@agentclientprotocol/sdk'
import type { ElicitationAnswer, ElicitationRequest } from '@halting/agent/mcp'
import type { Session } from '@halting/core/session'
import { messageOf, sharedAbort } from '@halting/core/adapters'
import { elicited } from '../frontends/elicited.ts'
import { fieldsOf } from './fields.ts'
import { formOf, misfitOf, seenText } from './server-form.ts'

interface Puts {
  readonly client: Pick<AgentContext, 'request'>
  readonly capabilities: Pick<ClientCapabilities, 'elicitation'>
  /** Tells the person in a sentence. */
  readonly note: (text: string) => void
}

/**
 * What servers want to know, put to the person as forms of the client (spec R-ACP-16).
 *
 * Q1: one form is open at a time. Q2: a form is withdrawn when its server waits no more, when the run that went on has ended, and when the session is closed.
 * Q3: what a client answers reaches a server only where it fits the form.
 */
export class ServerQuestions {
  readonly #puts: Puts
  /** Servers that a person was told of: each of them once. */
  readonly #told = new Set<string>()
  #session: Session | undefined
  #isOver = sharedAbort()
  #last: Promise<unknown> = Promise.resolve()

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
    const within = AbortSignal.any([signal, this.#isOver.signal])
    const answer = this.#last.then(() => this.#put(server, asked, within))
    this.#last = answer
    return answer
  }

  /** Never rejects. */
  async #put(
    server: string,
    { message, requestedSchema }: ElicitationRequest,
    signal: AbortSignal,
  ): Promise<ElicitationAnswer> {
    const { client, capabilities } = this.#puts
    if (signal.aborted) return { action: 'cancel' }
    if ((capabilities.elicitation?.form ?? undefined) === undefined)
      return this.#declined(server, message, 'this editor does not support forms')
    if (this.#session === undefined) return this.#declined(server, message, 'the session was not open yet')
    const form = formOf(requestedSchema)
    if (form === undefined) return this.#declined(server, message, 'a form cannot show what it asks for')
    const request = {
      mode: 'form',
      sessionId: this.#session.id,
      message: `The server ${seenText(server)} asks: ${seenText(message)}`,
      requestedSchema: form,
      _meta: { 'halting/server': server },
    } as const
    try {
      const waiting = { cancellationSignal: signal, stopWaitingOnCancel: true } as const
      const said: unknown = await client.request(methods.client.elicitation.create, request, waiting)
      const { action, content } = fieldsOf(said)
      const misfit = action === 'accept' ? misfitOf(form, fieldsOf(content)) : undefined
      if (misfit !== undefined)
        return this.#declined(server, message, `the answer of the editor does not match the form: ${misfit}`)
      return elicited(said)
    } catch (thrown) {
      if (signal.aborted) return { action: 'cancel' }
      return this.#declined(server, message, `the editor could not ask: ${messageOf(thrown)}`)
    }
  }

  #declined(server: string, message: string, because: string): ElicitationAnswer {
    const { note } = this.#puts
    if (!this.#told.has(server)) note(`Declined a question of the server ${server}, "${message}": ${because}.`)
    this.#told.add(server)
    return { action: 'decline' }
  }
}
