import type { ElicitationAnswer, ElicitationRequest } from '@halting/agent/mcp'
import type { Session } from '@halting/core/session'
import { declinedQuestionText, type Form, readForm, unsupportedFormReason } from '../../frontends/elicitation-form.ts'

/** An open question of an MCP server. */
export interface ServerQuestion {
  readonly id: string
  readonly server: string
  readonly request: ElicitationRequest
  /** The form; undefined for a page. */
  readonly form: Form | undefined
  readonly answer: (answer: ElicitationAnswer) => void
}

/**
 * The questions of MCP servers in the terminal, in order of arrival (spec R-TERM-91).
 *
 * Q1: each has one answer: that of the person, or `cancel` when its server stops waiting, or when the run or the session ends.
 */
export class ServerQuestions {
  readonly #note: (text: string) => void
  readonly #listeners: (() => void)[] = []
  #open: readonly ServerQuestion[] = []
  #count = 0

  /** @param note Shows a sentence to the person. */
  constructor(note: (text: string) => void) {
    this.#note = note
  }

  get open(): readonly ServerQuestion[] {
    return this.#open
  }

  /** Calls back when a question is opened or closed. */
  listen(listener: () => void): void {
    this.#listeners.push(listener)
  }

  /** Withdraws open questions when a run of this session ends. */
  attach(session: Pick<Session, 'listen'>): void {
    session.listen(({ type }) => {
      if (type !== 'run_end' && type !== 'failed' && type !== 'closed') return
      for (const { answer } of this.#open) answer({ action: 'cancel' })
    })
  }

  readonly ask = (server: string, request: ElicitationRequest, signal: AbortSignal): Promise<ElicitationAnswer> => {
    const form = request.mode === 'url' ? undefined : readForm(request.requestedSchema)
    if (request.mode !== 'url' && form === undefined) {
      this.#note(declinedQuestionText(server, request.message, unsupportedFormReason))
      return Promise.resolve({ action: 'decline' })
    }
    if (signal.aborted) return Promise.resolve({ action: 'cancel' })
    return new Promise((resolve) => {
      const id = `server-question-${++this.#count}`
      const cancel = (): void => answer({ action: 'cancel' })
      const answer = (result: ElicitationAnswer): void => {
        signal.removeEventListener('abort', cancel)
        this.#open = this.#open.filter((one) => one.id !== id)
        resolve(result)
        this.#changed()
      }
      signal.addEventListener('abort', cancel, { once: true })
      this.#open = [...this.#open, { id, server, request, form, answer }]
      this.#changed()
    })
  }

  #changed(): void {
    for (const listener of this.#listeners) listener()
  }
}
