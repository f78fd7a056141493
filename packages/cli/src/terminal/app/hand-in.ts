import type { QueuedMessage, Session } from '@halting/agent/session'
import type { ContentBlock, MessageContent } from '@halting/core'
import { messageOf } from '@halting/core/adapters'
import { saidText } from '../view/said-text.ts'

/** What a session takes: the session itself, and what makes a message of what was typed. */
export interface Taker {
  readonly session: Session
  prepare(text: string): Promise<MessageContent>
}

export type When = 'next' | 'later'

interface HandInOptions {
  /** Where messages go; waits for a session that is being opened. */
  readonly taker: () => Promise<Taker>
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
export interface HandIn {
  send(text: string, when: When): void
  /** Goes with the next message: what a command of the person's printed. */
  attach(text: string): void
  /** Texts that are on their way. */
  readonly onTheirWay: readonly string[]
  /** Of attached ones. */
  readonly attached: number
  /** The last message that nobody has taken, as it was typed; undefined for none. */
  takeBackLast(): string | undefined
  /** Ends the run that goes on; what was not taken goes back into the editor. */
  interrupt(): boolean
  /** Messages that the session gave back by itself. */
  returned(messages: readonly QueuedMessage[]): void
  forget(ids: readonly string[]): void
  /** Resolves when nothing is on its way. */
  settled(): Promise<void>
}

interface Way {
  readonly text: string
  readonly when: When
  isCalledBack: boolean
}

export function createHandIn({ taker, current, note, giveBack, changed }: HandInOptions): HandIn {
  const ways: Way[] = []
  const typed = new Map<string, { readonly text: string; readonly attached: readonly string[] }>()
  let attached: string[] = []
  let last = Promise.resolve()

  const textFor = ({ id, content }: QueuedMessage): string => typed.get(id)?.text ?? saidText(content)
  /** What went with a message that comes back goes with the next one. */
  const comesBack = (message: QueuedMessage): string => {
    attached = [...(typed.get(message.id)?.attached ?? []), ...attached]
    const text = textFor(message)
    typed.delete(message.id)
    return text
  }
  const goes = async (way: Way): Promise<void> => {
    try {
      const taking = await taker()
      const content = await taking.prepare(way.text)
      if (way.isCalledBack) return
      const id = taking.session.prompt(withAttached(content, attached), { when: way.when })
      typed.set(id, { text: way.text, attached })
      attached = []
    } catch (thrown) {
      if (way.isCalledBack) return
      note(messageOf(thrown))
      giveBack([way.text])
    } finally {
      const at = ways.indexOf(way)
      if (at >= 0) ways.splice(at, 1)
      changed()
    }
  }
  const callBack = (called: readonly Way[]): readonly string[] => {
    for (const way of called) {
      way.isCalledBack = true
      ways.splice(ways.indexOf(way), 1)
    }
    return called.map(({ text }) => text)
  }
  return {
    send(text, when) {
      const way: Way = { text, when, isCalledBack: false }
      ways.push(way)
      last = last.then(() => goes(way))
      changed()
    },
    attach(text) {
      attached.push(text)
      changed()
    },
    get onTheirWay() {
      return ways.map(({ text }) => text)
    },
    get attached() {
      return attached.length
    },
    takeBackLast() {
      const [text] = callBack(ways.slice(-1))
      if (text !== undefined) return text
      const queued = current()?.snapshot.queue.at(-1)
      if (queued === undefined || current()?.retract(queued.id) !== true) return undefined
      return comesBack(queued)
    },
    interrupt() {
      const onTheirWay = callBack([...ways])
      const interrupted = current()?.interrupt({ queue: 'give_back' })
      const { wasRunning = false, givenBack = [] } = interrupted ?? {}
      // The last one first: the outputs stay in their order.
      const texts = [...givenBack.toReversed().map(comesBack).toReversed(), ...onTheirWay]
      if (texts.length > 0) giveBack(texts)
      return wasRunning
    },
    returned(messages) {
      if (messages.length > 0) giveBack(messages.toReversed().map(comesBack).toReversed())
    },
    forget(ids) {
      for (const id of ids) typed.delete(id)
    },
    settled: () => last,
  }
}

function asBlocks(content: MessageContent): readonly ContentBlock[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content
}

function withAttached(content: MessageContent, attached: readonly string[]): MessageContent {
  if (attached.length === 0) return content
  return [...asBlocks(content), ...attached.map((text) => ({ type: 'text' as const, text }))]
}
