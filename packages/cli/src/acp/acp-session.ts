import { isDeepStrictEqual } from 'node:util'
import {
  type AgentContext,
  type AvailableCommand,
  type ClientCapabilities,
  methods,
  type PromptResponse,
  RequestError,
  type SessionConfigOption,
  type SessionModeState,
  type SessionUpdate,
} from '@agentclientprotocol/sdk'
import type { Session, SessionEvent, SessionSnapshot } from '@halting/core/session'
import type { SettingsChange } from '@halting/core'
import { retryServices } from '../frontends/wait-text.ts'
import { checkMode } from '../frontends/check-mode.ts'
import { oneLine } from '../io/figures.ts'
import { ClientQuestions } from './client-questions.ts'
import { parseOption, configOptions, modeState } from './config-options.ts'
import { invalidParamsError, requestError } from './errors.ts'
import { EventUpdates, clientFeaturesOf } from './event-updates.ts'
import { Outbox } from './outbox.ts'
import type { OpenedSession } from './session-opener.ts'
import { readClientPrompt } from './prompt-content.ts'
import { type OpenPrompt, type PromptEnd, Prompts } from './prompts.ts'
import { continueRun, builtinCommands, parseBuiltinCommand, setGoal } from './builtin-commands.ts'
import { titleOf } from './session-list.ts'
import { answerFor } from './stop-reason.ts'

/** Maximum length of a description; longer ones are truncated. */
const maxDescriptionLength = 300

/** The content blocks of a client's prompt. */
type PromptBlocks = Parameters<typeof readClientPrompt>[0]

/** The part of a session that a client can set, and is notified of. */
type SettableState = Pick<SessionSnapshot, 'permissionMode' | 'model' | 'models' | 'thinking' | 'limits'> & {
  readonly maxGoalTries: number | null
}

interface ClientInfo {
  readonly capabilities: ClientCapabilities
  readonly hasTitle: boolean
  /** Removes the program's own keys from text. */
  readonly redact: (text: string) => string
}

/** Connects one session to a client: submits its prompts, and sends updates. It has no state of the conversation itself. */
export class AcpSession {
  readonly #opened: OpenedSession
  readonly #outbox: Outbox
  readonly #updates: EventUpdates
  readonly #questions: ClientQuestions
  readonly #prompts = new Prompts()
  readonly #stopListening: () => void
  /** The settings that the client was last notified of. */
  #reported: SettableState
  #reportedCommands: readonly AvailableCommand[] = []
  #hasTitle: boolean

  constructor(opened: OpenedSession, client: AgentContext, { capabilities, hasTitle, redact }: ClientInfo) {
    const { session } = opened
    this.#opened = opened
    this.#hasTitle = hasTitle
    this.#outbox = new Outbox((update) =>
      client.notify(methods.client.session.update, { sessionId: session.id, update }),
    )
    this.#updates = new EventUpdates(
      clientFeaturesOf(capabilities),
      session.snapshot.cwd,
      () => session.snapshot,
      redact,
    )
    this.#questions = new ClientQuestions({
      session,
      client,
      capabilities,
      updates: this.#updates,
      outbox: this.#outbox,
    })
    this.#reported = this.#settable()
    this.#stopListening = session.listen((event) => this.#onEvent(event))
  }

  get id(): string {
    return this.#session.id
  }

  get #session(): Session {
    return this.#opened.session
  }

  /** The modes and options in the response to opening the session. */
  get settings(): { readonly modes: SessionModeState; readonly configOptions: SessionConfigOption[] } {
    return { modes: modeState(this.#session.snapshot), configOptions: this.#options() }
  }

  #onEvent(event: SessionEvent): void {
    this.#outbox.push(...this.#updates.updatesFor(event))
    this.#questions.onEvent(event)
    // More commands may exist now, because MCP servers may have connected since the session was opened.
    if (event.type === 'run_start') this.#sendCommandChanges()
    if (event.type === 'run_end')
      this.#outbox.push({ sessionUpdate: 'session_info_update', updatedAt: new Date().toISOString() })
    if (event.type === 'changed') this.#sendSettingChanges()
    this.#prompts.onEvent(event)
    // A prompt that only continues the run is not in a queue that a cancel could empty.
    if (event.type === 'run_start' && this.#prompts.isUnwanted(event.runId)) this.#session.interrupt()
  }

  /** Sends updates to the client; resolves when they are sent. */
  async send(updates: readonly SessionUpdate[]): Promise<void> {
    this.#outbox.push(...updates)
    await this.#outbox.flush()
  }

  /** Sends the available commands and the notes so far. */
  sendInitialUpdates(): void {
    this.#sendCommandChanges()
    this.#opened.onNote((text) => this.#outbox.push(...this.#updates.note('info', text)))
  }

  #sendCommandChanges(): void {
    const availableCommands = [...builtinCommands, ...this.#opened.commands()].map(
      ({ name, description, argumentHint = '' }) => ({
        name,
        // Descriptions come from files of the project.
        description: oneLine(description, maxDescriptionLength),
        ...(argumentHint !== '' && { input: { hint: oneLine(argumentHint, maxDescriptionLength) } }),
      }),
    )
    if (isDeepStrictEqual(availableCommands, this.#reportedCommands)) return
    this.#reportedCommands = availableCommands
    this.#outbox.push({ sessionUpdate: 'available_commands_update', availableCommands })
  }

  /** Runs a prompt. A run in progress receives the prompt (spec R-ACP-6). */
  async prompt(blocks: PromptBlocks, signal: AbortSignal): Promise<PromptResponse> {
    // Registered before the first await, because a cancel may arrive with the next line.
    const prompt = this.#prompts.open()
    const cancel = (): void => this.cancel()
    signal.addEventListener('abort', cancel, { once: true })
    if (signal.aborted) cancel()
    try {
      await this.#submit(prompt, blocks, signal)
    } catch (thrown) {
      this.#prompts.fail(prompt, thrown)
    }
    try {
      return await this.#answer(await prompt.ended)
    } finally {
      signal.removeEventListener('abort', cancel)
    }
  }

  async #submit(prompt: OpenPrompt, blocks: PromptBlocks, signal: AbortSignal): Promise<void> {
    const clientPrompt = readClientPrompt(blocks)
    const command =
      clientPrompt.rest === '' && clientPrompt.images.length === 0 ? parseBuiltinCommand(clientPrompt.text) : undefined
    if (command !== undefined) {
      if (prompt.isCancelled) return this.#prompts.cancelOne(prompt.id)
      if (command.name === 'until' || command.name === 'goal' || command.name === 'retry') {
        const answer =
          command.name === 'retry' ? retryServices(this.#session) : setGoal(this.#session, command.name, command.rest)
        this.#outbox.push(...this.#updates.message(answer))
        return this.#prompts.done(prompt)
      }
      this.#prompts.markSubmitted(prompt, 'goes on')
      if (command.name === 'compact') this.#session.compact(command.rest === '' ? undefined : command.rest)
      else continueRun(this.#session)
      return
    }
    const { content, ...run } = await this.#opened.prepare(clientPrompt, signal)
    if (prompt.isCancelled) return this.#prompts.cancelOne(prompt.id)
    this.#nameAfter(clientPrompt.text)
    this.#prompts.markSubmitted(prompt, 'message')
    this.#session.prompt(content, { ...run, id: prompt.id, when: 'now' })
  }

  /** The response is sent after all updates of the run. */
  async #answer(end: PromptEnd): Promise<PromptResponse> {
    await this.#outbox.flush()
    if (end.kind === 'failed') throw requestError(end.error)
    if (end.kind === 'cancelled') return { stopReason: 'cancelled' }
    if (end.kind === 'done') return { stopReason: 'end_turn' }
    const answer = answerFor(end.terminal, end.isCancelled)
    if (answer.kind === 'error') throw new RequestError(answer.code, answer.message, answer.data)
    return { stopReason: answer.stopReason, _meta: answer.meta }
  }

  #nameAfter(firstPrompt: string): void {
    const title = titleOf(firstPrompt)
    if (this.#hasTitle || title === '') return
    this.#hasTitle = true
    this.#outbox.push({ sessionUpdate: 'session_info_update', title })
  }

  /** Ends the run and the queued prompts. Every prompt is answered with `cancelled`. */
  cancel(): void {
    if (this.#prompts.isEmpty) return
    this.#prompts.cancelAll()
    const { givenBack } = this.#session.interrupt({ queue: 'give_back' })
    for (const { id } of givenBack) this.#prompts.cancelOne(id)
  }

  /** @throws RequestError for an unknown mode. */
  setMode(modeId: string): void {
    this.#set({ permissionMode: modeId })
  }

  /** Works during a run, too: a raised limit applies from the next request on. @throws RequestError for an invalid option or value. */
  setOption(configId: string, value: unknown): SessionConfigOption[] {
    const change = parseOption(configId, value, this.#session.snapshot)
    if (typeof change === 'string') throw invalidParamsError(change)
    this.#set(change)
    return this.settings.configOptions
  }

  #set(change: SettingsChange): void {
    try {
      if (typeof change.permissionMode === 'string') checkMode(change.permissionMode, this.#session.snapshot)
      this.#session.set(change)
    } catch (thrown) {
      throw requestError(thrown)
    }
    this.#sendSettingChanges()
  }

  /** Notifies the client of changed settings, whatever changed them. */
  #sendSettingChanges(): void {
    const [before, now] = [this.#reported, this.#settable()]
    if (isDeepStrictEqual(now, before)) return
    this.#reported = now
    const { permissionMode } = now
    if (permissionMode !== before.permissionMode)
      this.#outbox.push({ sessionUpdate: 'current_mode_update', currentModeId: permissionMode })
    this.#outbox.push({ sessionUpdate: 'config_option_update', configOptions: this.#options() })
  }

  #options(): SessionConfigOption[] {
    return configOptions(this.#session.snapshot, this.#opened.models)
  }

  #settable(): SettableState {
    const { permissionMode, model, models, thinking, limits, goal } = this.#session.snapshot
    return { permissionMode, model, models, thinking, limits, maxGoalTries: goal?.maxTries ?? null }
  }

  /** Ends the session; open prompts are answered. May be called again. */
  async close(): Promise<void> {
    this.#prompts.cancelAll()
    await this.#session.close()
    this.#stopListening()
    this.#prompts.onEvent({ type: 'closed' })
    await this.#outbox.flush()
  }
}
