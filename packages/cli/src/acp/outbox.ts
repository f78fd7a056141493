import type { SessionUpdate } from '@agentclientprotocol/sdk'

/**
 * Sends updates to a client in order (spec R-ACP-4).
 *
 * O1: one notification is sent at a time. O2: while a client is slow, text chunks are joined and only the newest output of a command is kept, so that it
 * receives less rather than later. O3: updates that cannot be sent are dropped, because the client is gone.
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

  /** New output of a running command replaces earlier output that is not sent yet. */
  #replacesOutput(update: SessionUpdate): boolean {
    const id = liveCallOf(update)
    const at = id === undefined ? -1 : this.#waiting.findIndex((waiting) => liveCallOf(waiting) === id)
    if (at >= 0) this.#waiting[at] = update
    return at >= 0
  }

  /** Resolves when everything pushed has been sent. */
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

/** The key in `_meta` that marks the output of a running command. */
export const liveOutput = 'halting/live'

function liveCallOf(update: SessionUpdate): string | undefined {
  if (update.sessionUpdate !== 'tool_call_update') return undefined
  const { toolCallId, _meta: about } = update
  return about?.[liveOutput] === true ? toolCallId : undefined
}

/** Characters that are joined into one notification. */
const maxCharacters = 64 * 1024

/** Joins two chunks of one text; undefined for any other updates. */
function joinedText(last: SessionUpdate, next: SessionUpdate): SessionUpdate | undefined {
  if (last.sessionUpdate !== 'agent_message_chunk' && last.sessionUpdate !== 'agent_thought_chunk') return undefined
  if (next.sessionUpdate !== last.sessionUpdate || next.messageId !== last.messageId) return undefined
  const [before, after] = [last.content, next.content]
  if (before.type !== 'text' || after.type !== 'text' || before.text.length > maxCharacters) return undefined
  return { ...last, content: { type: 'text', text: before.text + after.text } }
}
