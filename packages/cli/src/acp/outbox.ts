import type { SessionUpdate } from '@agentclientprotocol/sdk'

/**
 * What a client is told, one after another: updates come to it in the order in which they happened (spec R-ACP-4).
 *
 * O1: one notification is under way at a time. O2: text that comes faster than it is taken is put together, and of the output of a command only the newest
 * is kept, so that a slow client is sent less and not later. O3: what cannot be sent has no client any more, and is dropped.
 */
export class Outbox {
  readonly #send: (update: SessionUpdate) => Promise<void>
  readonly #waiting: SessionUpdate[] = []
  #sending: Promise<void> | undefined

  constructor(send: (update: SessionUpdate) => Promise<void>) {
    this.#send = send
  }

  push(...updates: readonly SessionUpdate[]): void {
    for (const update of updates) {
      if (this.#replacesOutput(update)) continue
      const last = this.#waiting.at(-1)
      const joined = last === undefined ? undefined : joinedText(last, update)
      if (joined === undefined) this.#waiting.push(update)
      else this.#waiting[this.#waiting.length - 1] = joined
    }
    if (this.#waiting.length > 0) this.#sending ??= this.#sendAll()
  }

  /** Output of a command that still runs stands for all that was sent of it before. */
  #replacesOutput(update: SessionUpdate): boolean {
    const id = liveCallOf(update)
    const at = id === undefined ? -1 : this.#waiting.findIndex((waiting) => liveCallOf(waiting) === id)
    if (at >= 0) this.#waiting[at] = update
    return at >= 0
  }

  /** Resolves when all that was pushed has been sent. */
  async flush(): Promise<void> {
    await this.#sending
  }

  async #sendAll(): Promise<void> {
    for (let update = this.#waiting.shift(); update !== undefined; update = this.#waiting.shift()) {
      try {
        await this.#send(update)
      } catch {
        this.#waiting.length = 0
      }
    }
    this.#sending = undefined
  }
}

/** Key of `_meta` of an update with the output of a command that still runs. */
export const liveOutput = 'halting/live'

function liveCallOf(update: SessionUpdate): string | undefined {
  if (update.sessionUpdate !== 'tool_call_update') return undefined
  const { toolCallId, _meta: about } = update
  return about?.[liveOutput] === true ? toolCallId : undefined
}

/** So much text is put into one notification. */
const mostCharacters = 64 * 1024

/** Two pieces of one text as one; undefined for anything else. */
function joinedText(last: SessionUpdate, next: SessionUpdate): SessionUpdate | undefined {
  if (last.sessionUpdate !== 'agent_message_chunk' && last.sessionUpdate !== 'agent_thought_chunk') return undefined
  if (next.sessionUpdate !== last.sessionUpdate || next.messageId !== last.messageId) return undefined
  const [before, after] = [last.content, next.content]
  if (before.type !== 'text' || after.type !== 'text' || before.text.length > mostCharacters) return undefined
  return { ...last, content: { type: 'text', text: before.text + after.text } }
}
