import type { QueuedMessage, Session } from '@halting/core/session'
import type { MessageContent } from '@halting/core'
import { blocksOf, messageOf } from '@halting/core/adapters'
import type { Prepared } from '@halting/agent/open-session'
import { promptText } from '../view/prompt-text.ts'

/** What a session takes: the session itself, and what makes a message of what was typed. */
export interface PromptTarget {
  readonly session: Session
  prepare(text: string): Promise<Prepared>
}

export type When = 'next' | 'later'

interface HandInOptions {
  /** Where messages go; waits for a session that is being opened. */
  readonly taker: () => Promise<PromptTarget>
  /** The session that is open. */
  readonly current: () => Session | undefined
  readonly note: (text: string) => void
  /** Puts texts back into the editor. */
  readonly giveBack: (texts: readonly string[]) => void
  readonly changed: () => void
}

/**
 * The way from the editor into the session. Nothing that was typed is lost on it (spec R-TERM-61):
 *
 * N1: messages go in in the order in which they were typed.
 * N2: what no run has taken can be taken back as it was typed, also while it is being prepared.
 * N3: what the session does not take goes back into the editor, with the reason.
 */
export interface PromptSender {
  send(text: string, when: When): void
  /** Goes with the next message: what a command of the person's printed. */
  attach(text: string): void
  /** Texts that are on their way. */
  readonly unsentTexts: readonly string[]
  /** Of attached ones. */
  readonly attachedCount: number
  /** The last message that nobody has taken, as it was typed; undefined for none. */
  retractLast(): string | undefined
  /** Ends the run that goes on; what was not taken goes back into the editor. */
  interrupt(): boolean
  /** Messages that the session gave back by itself. */
  restore(messages: readonly QueuedMessage[]): void
  forget(ids: readonly string[]): void
  /** Resolves when nothing is on its way. */
  settled(): Promise<void>
}

/** A message that is on its way. */
interface Outgoing {
  readonly text: string
  readonly when: When
  isCalledOff: boolean
}

export function createPromptSender({ taker, current, note, giveBack, changed }: HandInOptions): PromptSender {
  const outgoing: Outgoing[] = []
  const typed = new Map<string, { readonly text: string; readonly attached: readonly string[] }>()
  let attached: string[] = []
  let last = Promise.resolve()

  const textFor = ({ id, content }: QueuedMessage): string => typed.get(id)?.text ?? promptText(content)
  /** What went with a message that comes back goes with the next one. */
  const comesBack = (message: QueuedMessage): string => {
    attached = [...(typed.get(message.id)?.attached ?? []), ...attached]
    const text = textFor(message)
    typed.delete(message.id)
    return text
  }
  const deliver = async (message: Outgoing): Promise<void> => {
    try {
      const taking = await taker()
      const { content, ...own } = await taking.prepare(message.text)
      if (message.isCalledOff) return
      const id = taking.session.prompt(withAttached(content, attached), { ...own, when: message.when })
      typed.set(id, { text: message.text, attached })
      attached = []
    } catch (thrown) {
      if (message.isCalledOff) return
      note(messageOf(thrown))
      giveBack([message.text])
    } finally {
      const at = outgoing.indexOf(message)
      if (at >= 0) outgoing.splice(at, 1)
      changed()
    }
  }
  const callOff = (called: readonly Outgoing[]): readonly string[] => {
    for (const message of called) {
      message.isCalledOff = true
      outgoing.splice(outgoing.indexOf(message), 1)
    }
    return called.map(({ text }) => text)
  }
  return {
    send(text, when) {
      const message: Outgoing = { text, when, isCalledOff: false }
      outgoing.push(message)
      last = last.then(() => deliver(message))
      changed()
    },
    attach(text) {
      attached.push(text)
      changed()
    },
    get unsentTexts() {
      return outgoing.map(({ text }) => text)
    },
    get attachedCount() {
      return attached.length
    },
    retractLast() {
      const [text] = callOff(outgoing.slice(-1))
      if (text !== undefined) return text
      const queued = current()?.snapshot.queue.at(-1)
      if (queued === undefined || current()?.retract(queued.id) !== true) return undefined
      return comesBack(queued)
    },
    interrupt() {
      const onTheirWay = callOff([...outgoing])
      const interrupted = current()?.interrupt({ queue: 'give_back' })
      const { wasRunning = false, givenBack = [] } = interrupted ?? {}
      // The last one first: the outputs stay in their order.
      const texts = [...givenBack.toReversed().map(comesBack).toReversed(), ...onTheirWay]
      if (texts.length > 0) giveBack(texts)
      return wasRunning
    },
    restore(messages) {
      if (messages.length > 0) giveBack(messages.toReversed().map(comesBack).toReversed())
    },
    forget(ids) {
      for (const id of ids) typed.delete(id)
    },
    settled: () => last,
  }
}

function withAttached(content: MessageContent, attached: readonly string[]): MessageContent {
  if (attached.length === 0) return content
  return [...blocksOf(content), ...attached.map((text) => ({ type: 'text' as const, text }))]
}
