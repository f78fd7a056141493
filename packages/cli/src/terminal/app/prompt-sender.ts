import type { QueuedMessage, Session } from '@halting/core/session'
import type { MessageContent } from '@halting/core'
import { blocksOf, messageOf } from '@halting/core/adapters'
import type { Prepared } from '@halting/agent/open-session'
import { promptText } from '../view/prompt-text.ts'

/** A recipient of prompts: a session, and the preparation of its messages. */
export interface PromptTarget {
  readonly session: Session
  prepare(text: string): Promise<Prepared>
}

export type When = 'next' | 'later'

interface HandInOptions {
  /** The recipient of messages; waits for a session that is being opened. */
  readonly taker: () => Promise<PromptTarget>
  /** The open session. */
  readonly current: () => Session | undefined
  readonly note: (text: string) => void
  /** Puts texts back into the editor. */
  readonly giveBack: (texts: readonly string[]) => void
  readonly changed: () => void
}

/**
 * Sends what a person typed to the session, without losing any of it (spec R-TERM-61):
 *
 * N1: messages are submitted in the order in which they were typed.
 * N2: a message that no run has received can be retracted as it was typed, even during its preparation.
 * N3: a rejected message returns to the editor, with the reason.
 */
export interface PromptSender {
  send(text: string, when: When): void
  /** Attaches the output of the person's command to the next message. */
  attach(text: string): void
  /** Texts that are not submitted yet. */
  readonly unsentTexts: readonly string[]
  /** The number of attached outputs. */
  readonly attachedCount: number
  /** Retracts the last message that no run has received, and returns its text; undefined for none. */
  retractLast(): string | undefined
  /** Interrupts the run; messages that it has not received return to the editor. Returns whether a run was in progress. */
  interrupt(): boolean
  /** Puts messages that the session returned back into the editor. */
  restore(messages: readonly QueuedMessage[]): void
  forget(ids: readonly string[]): void
  /** Resolves when all messages are submitted. */
  settled(): Promise<void>
}

/** A message that is not submitted yet. */
interface Outgoing {
  readonly text: string
  readonly when: When
  isCalledOff: boolean
}

export function createPromptSender(options: HandInOptions): PromptSender {
  return new QueuedPromptSender(options)
}

class QueuedPromptSender implements PromptSender {
  readonly #taker: HandInOptions['taker']
  readonly #current: HandInOptions['current']
  readonly #note: HandInOptions['note']
  readonly #giveBack: HandInOptions['giveBack']
  readonly #changed: HandInOptions['changed']
  readonly #outgoing: Outgoing[] = []
  readonly #typed = new Map<string, { readonly text: string; readonly attached: readonly string[] }>()
  #attached: string[] = []
  #last = Promise.resolve()

  constructor({ taker, current, note, giveBack, changed }: HandInOptions) {
    this.#taker = taker
    this.#current = current
    this.#note = note
    this.#giveBack = giveBack
    this.#changed = changed
  }

  send(text: string, when: When): void {
    const message: Outgoing = { text, when, isCalledOff: false }
    this.#outgoing.push(message)
    this.#last = this.#last.then(() => this.#deliver(message))
    this.#changed()
  }

  attach(text: string): void {
    this.#attached.push(text)
    this.#changed()
  }

  get unsentTexts(): PromptSender['unsentTexts'] {
    return this.#outgoing.map(({ text }) => text)
  }

  get attachedCount(): PromptSender['attachedCount'] {
    return this.#attached.length
  }

  retractLast(): string | undefined {
    const [text] = this.#callOff(this.#outgoing.slice(-1))
    if (text !== undefined) return text
    const queued = this.#current()?.snapshot.queue.at(-1)
    if (queued === undefined || this.#current()?.retract(queued.id) !== true) return undefined
    return this.#comesBack(queued)
  }

  interrupt(): boolean {
    const onTheirWay = this.#callOff([...this.#outgoing])
    const interrupted = this.#current()?.interrupt({ queue: 'give_back' })
    const { wasRunning = false, givenBack = [] } = interrupted ?? {}
    // Iterates in reverse, so that attached outputs keep their order.
    const texts = [
      ...givenBack
        .toReversed()
        .map((message) => this.#comesBack(message))
        .toReversed(),
      ...onTheirWay,
    ]
    if (texts.length > 0) this.#giveBack(texts)
    return wasRunning
  }

  restore(messages: readonly QueuedMessage[]): void {
    if (messages.length > 0)
      this.#giveBack(
        messages
          .toReversed()
          .map((message) => this.#comesBack(message))
          .toReversed(),
      )
  }

  forget(ids: readonly string[]): void {
    for (const id of ids) this.#typed.delete(id)
  }

  settled(): Promise<void> {
    return this.#last
  }

  #textFor({ id, content }: QueuedMessage): string {
    return this.#typed.get(id)?.text ?? promptText(content)
  }

  /** Handles a message that the session returned: its attached outputs go with the next message. */
  #comesBack(message: QueuedMessage): string {
    this.#attached = [...(this.#typed.get(message.id)?.attached ?? []), ...this.#attached]
    const text = this.#textFor(message)
    this.#typed.delete(message.id)
    return text
  }

  async #deliver(message: Outgoing): Promise<void> {
    try {
      const taking = await this.#taker()
      const { content, ...own } = await taking.prepare(message.text)
      if (message.isCalledOff) return
      const id = taking.session.prompt(withAttached(content, this.#attached), { ...own, when: message.when })
      this.#typed.set(id, { text: message.text, attached: this.#attached })
      this.#attached = []
    } catch (thrown) {
      if (message.isCalledOff) return
      this.#note(messageOf(thrown))
      this.#giveBack([message.text])
    } finally {
      const at = this.#outgoing.indexOf(message)
      if (at >= 0) this.#outgoing.splice(at, 1)
      this.#changed()
    }
  }

  #callOff(called: readonly Outgoing[]): readonly string[] {
    for (const message of called) {
      message.isCalledOff = true
      this.#outgoing.splice(this.#outgoing.indexOf(message), 1)
    }
    return called.map(({ text }) => text)
  }
}

function withAttached(content: MessageContent, attached: readonly string[]): MessageContent {
  if (attached.length === 0) return content
  return [...blocksOf(content), ...attached.map((text) => ({ type: 'text' as const, text }))]
}
