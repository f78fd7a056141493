import { randomUUID } from 'node:crypto'
import type { Session } from '@halting/core/session'
import type { JsonObject, MessageContent, ContentBlock, Json } from '@halting/core'
import type { Prepared } from '@halting/agent/open-session'
import type { HostSession } from './host-session.ts'
import { type StatusCommand, statusCommandOf } from './status-commands.ts'
import { blocksOf, isJsonObject } from '@halting/core/adapters'
import { UsageError } from '../usage-error.ts'

export interface PromptIntakePorts {
  /** The session, once it is open. */
  readonly opened: () => HostSession | undefined
  readonly open: () => Promise<HostSession>
  /** Answers a command that needs no model. */
  readonly answer: (command: StatusCommand, id: string) => void
  /** Resolves when earlier commands are answered; undefined if there are none to wait for. */
  readonly answering: () => Promise<void> | undefined
  /** Reports a message that could not be submitted. */
  readonly onFailure: (thrown: unknown) => void
  /** Whether no more messages are submitted. */
  readonly isLeaving: () => boolean
  /** Whether messages are replayed once the session has accepted them. */
  readonly replays: boolean
}

/** Submits the messages of the host to the session in the order of their lines, however long preparing one takes (spec R-HOST-5). */
export class PromptIntake {
  readonly #ports: PromptIntakePorts
  #waiting: Promise<void> | undefined
  /** Content of messages that start no run: it is prepended to the next message. */
  #prefix: MessageContent | undefined
  /** Messages that the session has not reported yet. */
  readonly #replays = new Map<string, JsonObject>()
  /** Messages that were replayed, so that the line of the run is not a duplicate. */
  readonly #replayedIds = new Set<string>()

  constructor(ports: PromptIntakePorts) {
    this.#ports = ports
  }

  /** Resolves when everything received is submitted; undefined if nothing is pending. Never rejects. */
  get waiting(): Promise<void> | undefined {
    return this.#waiting
  }

  take(line: JsonObject): void {
    const opened = this.#ports.opened()
    if (opened === undefined || this.#waiting !== undefined) {
      this.#enqueue(async () => {
        const { session, prepare } = await this.#ports.open()
        const message = readUserMessage(line)
        const { content, isComposed } = message
        if (this.#answerStatusCommand(session, message, line)) return
        const ready = isComposed ? { content } : await prepare(content)
        await this.#ports.answering()
        this.#prompt(session, message, line, ready)
      })
      return
    }
    const { session, prepare } = opened
    try {
      const message = readUserMessage(line)
      const { content, isComposed } = message
      if (this.#answerStatusCommand(session, message, line)) return
      const ready = isComposed ? { content } : prepare(content)
      const answering = this.#ports.answering()
      if (ready instanceof Promise || answering !== undefined)
        this.#enqueue(async () => {
          await answering
          this.#prompt(session, message, line, await ready)
        })
      else this.#prompt(session, message, line, ready)
    } catch (thrown) {
      this.#ports.onFailure(thrown)
    }
  }

  /** The lines that replay these messages, each once. */
  takeReplayLines(ids: readonly string[], sessionId: string): readonly JsonObject[] {
    return ids.flatMap((id) => {
      const line = this.#replays.get(id)
      this.#replays.delete(id)
      if (line === undefined) return []
      this.#replayedIds.add(id)
      const { message } = line
      return [{ type: 'user', message, parent_tool_use_id: null, isReplay: true, uuid: id, session_id: sessionId }]
    })
  }

  /** Whether a message with this uuid was replayed. */
  isReplayed(uuid: string): boolean {
    return this.#replayedIds.has(uuid)
  }

  #enqueue(handIn: () => Promise<void>): void {
    const waiting = (this.#waiting ?? Promise.resolve())
      .then(handIn)
      .catch((thrown: unknown) => this.#ports.onFailure(thrown))
      .finally(() => {
        if (this.#waiting === waiting) this.#waiting = undefined
      })
    this.#waiting = waiting
  }

  /** Answers a command of the program itself, which is not part of the conversation. */
  #answerStatusCommand(
    session: Session,
    { content, isComposed, startsRun: asks, id = randomUUID() }: HostMessage,
    line: JsonObject,
  ): boolean {
    const command = isComposed || !asks ? undefined : statusCommandOf(content, session)
    if (command === undefined) return false
    if (this.#ports.isLeaving()) return true
    if (this.#ports.replays) this.#replays.set(id, line)
    this.#ports.answer(command, id)
    return true
  }

  #prompt(
    session: Session,
    { id = randomUUID(), when, startsRun: asks }: HostMessage,
    line: JsonObject,
    { content, ...own }: Prepared,
  ): void {
    const combined = this.#prefix === undefined ? content : joinContents(this.#prefix, content)
    this.#prefix = asks ? undefined : combined
    if (!asks || this.#ports.isLeaving()) return
    if (this.#ports.replays) this.#replays.set(id, line)
    session.prompt(combined, { ...own, id, ...(when !== undefined && { when }) })
  }
}

/** A message of the user, as a host submits it. */
interface HostMessage {
  readonly content: MessageContent
  readonly id?: string
  readonly when?: 'now' | 'next' | 'later'
  /** Whether the message starts a run. If false, it waits for the next message and precedes it. */
  readonly startsRun: boolean
  /** Whether the host composed the message, so that it contains no commands or file names to expand. */
  readonly isComposed: boolean
}

const priorities = ['now', 'next', 'later'] as const

/** Reads a line of the type `user` (spec R-HOST-5). @throws UsageError that describes the problem. */
export function readUserMessage(line: JsonObject): HostMessage {
  const { message, uuid, priority, shouldQuery, client_composed: composed } = line
  if (!isJsonObject(message)) throw invalidMessage('has no message')
  if ((message['role'] ?? 'user') !== 'user') throw invalidMessage('has a role that is not user')
  const when = priorities.find((one) => one === priority)
  if (priority !== undefined && priority !== null && when === undefined)
    throw invalidMessage('has a priority other than now, next and later')
  return {
    content: contentOf(message['content']),
    ...(typeof uuid === 'string' && uuid !== '' && { id: uuid }),
    ...(when !== undefined && { when }),
    startsRun: shouldQuery !== false,
    isComposed: composed === true,
  }
}

function contentOf(content: Json | undefined): MessageContent {
  if (typeof content === 'string') {
    if (content.trim() === '') throw invalidMessage('is empty')
    return content
  }
  if (!Array.isArray(content)) throw invalidMessage('has a content that is neither a string nor a list of blocks')
  if (content.length === 0) throw invalidMessage('is empty')
  const invalidBlock = content.find((block) => !isJsonObject(block) || typeof block['type'] !== 'string')
  if (invalidBlock !== undefined) throw invalidMessage('has a block without a type')
  // This cast is safe as far as the content was checked; the session rejects blocks that prompts cannot have.
  return content as readonly Json[] as readonly ContentBlock[]
}

function invalidMessage(problem: string): UsageError {
  return new UsageError(
    `A message of the host ${problem}. Expected {"type":"user","message":{"role":"user","content":"…"},"parent_tool_use_id":null,"session_id":""}.`,
  )
}

/** Joins two contents into one. */
export function joinContents(first: MessageContent, second: MessageContent): MessageContent {
  return [...blocksOf(first), ...blocksOf(second)]
}
