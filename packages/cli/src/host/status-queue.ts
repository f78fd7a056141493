import { randomUUID } from 'node:crypto'
import type { JsonObject, SdkMessage, SdkResult } from '@halting/core'
import { messageOf, noUsage } from '@halting/core/adapters'
import type { Flags } from '../flags/flags.ts'
import type { Program } from '../program.ts'
import { UsageError } from '../usage-error.ts'
import type { HostSession } from './host-session.ts'
import { resultWithoutRun } from './result-without-run.ts'
import type { StatusCommand } from './status-commands.ts'

export interface StatusPorts {
  readonly opened: () => HostSession | undefined
  /** Whether a run has started and its last line is not written. */
  readonly isInRun: () => boolean
  readonly write: (line: object) => void
  /** Lines that replay the message of the command, for hosts that ask for it. */
  readonly replayed: (id: string) => readonly object[]
  readonly flags: Flags
  readonly program: Program
}

interface QueuedCommand extends StatusCommand {
  readonly id: string
}

/**
 * Answers status commands, each with the lines of a run: `system/init`, the answer, a result (spec R-HOST-20).
 *
 * S1: answers are in order, and never between the lines of a run: a command during a run waits for its end.
 * S2: each command has one result.
 * S3: a message after a command starts no run before the command is answered. A run in progress may receive the message.
 */
export class StatusQueue {
  readonly #ports: StatusPorts
  readonly #waiting: QueuedCommand[] = []
  #working: Promise<void> | undefined
  #resolveWake: () => void = () => undefined
  /** The first line of the last run, which also names tools that were added later. */
  #init: JsonObject = {}
  #modelUsage: SdkResult['modelUsage'] = {}

  constructor(ports: StatusPorts) {
    this.#ports = ports
  }

  add(command: StatusCommand, id: string): void {
    this.#waiting.push({ ...command, id })
    this.#working ??= this.#answerAll()
  }

  /** Resolves when every command received so far is answered. Never rejects. */
  async settled(): Promise<void> {
    await this.#working
  }

  /** Resolves when the commands are answered; undefined if there are none, or a run delays them. */
  get answering(): Promise<void> | undefined {
    return this.#isBusy ? undefined : this.#working
  }

  /** Called when a run may have ended. */
  wake(): void {
    this.#resolveWake()
  }

  /** Receives every message of the session. */
  onMessage(message: SdkMessage): void {
    if (message.type === 'result') this.#modelUsage = message.modelUsage
    if (message.type !== 'system' || message.subtype !== 'init') return
    const { uuid: _, session_id: __, ...init } = message
    this.#init = init
  }

  get #isBusy(): boolean {
    const status = this.#ports.opened()?.session.snapshot.status
    return this.#ports.isInRun() || status === 'running' || status === 'requires_action'
  }

  async #answerAll(): Promise<void> {
    for (let command = this.#waiting[0]; command !== undefined; command = this.#waiting[0]) {
      await this.#answer(command)
      this.#waiting.shift()
    }
    this.#working = undefined
  }

  async #answer(command: QueuedCommand): Promise<void> {
    const opened = this.#ports.opened()
    if (opened === undefined) return
    const beganAt = performance.now()
    for (;;) {
      while (this.#isBusy)
        await new Promise<void>((resolve) => {
          this.#resolveWake = resolve
        })
      const answer = await this.#textOf(command, opened)
      // A run may have started in the meantime; then the answer is computed again after it, so that the lines of the run stay together.
      if (!this.#isBusy) return this.#write(command, opened, { ...answer, ms: performance.now() - beganAt })
    }
  }

  async #textOf(
    command: StatusCommand,
    opened: HostSession,
  ): Promise<{ readonly text: string; readonly isError: boolean }> {
    try {
      const { statusAnswer } = await import('./status-answers.ts')
      const { flags, program } = this.#ports
      return { text: await statusAnswer(command, opened, { flags, program }), isError: false }
    } catch (thrown) {
      return { text: messageOf(thrown), isError: !(thrown instanceof UsageError) }
    }
  }

  #write(
    { id, name }: QueuedCommand,
    { session, initFields }: HostSession,
    { text, isError, ms }: { readonly text: string; readonly isError: boolean; readonly ms: number },
  ): void {
    const { write, replayed } = this.#ports
    const { model, permissionMode, figures } = session.snapshot
    const ids = (): JsonObject => ({ uuid: randomUUID(), session_id: session.id })
    write({ type: 'system', subtype: 'init', ...initFields(), ...this.#init, model, permissionMode, ...ids() })
    for (const line of replayed(id)) write(line)
    const result = { sessionId: session.id, costUsd: figures.sessionUsd, modelUsage: this.#modelUsage, ms }
    if (isError) return write(resultWithoutRun({ ...result, error: text }))
    const message = {
      id: randomUUID(),
      type: 'message',
      role: 'assistant',
      model: '<synthetic>',
      content: [{ type: 'text', text }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: noUsage,
    }
    write({ type: 'assistant', message, parent_tool_use_id: null, ...ids() })
    write({ ...resultWithoutRun({ ...result, answer: text }), local_command: name })
  }
}
