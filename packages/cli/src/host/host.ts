import { randomUUID } from 'node:crypto'
import { setImmediate, setTimeout } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { JsonObject, SdkMessage } from '@halting/core'
import { messageOf, resultForHosts } from '@halting/core/adapters'
import { ResumeRejectedError } from '@halting/journal'
import type { SessionEvent } from '@halting/core/session'
import type { Flags } from '../flags/flags.ts'
import { exitCodeOf } from '../headless/ending.ts'
import { causeOf, type Interruption, watchInterruption } from '../headless/interruption.ts'
import { oneLine, programMessage } from '../io/figures.ts'
import type { Program } from '../program.ts'
import { AgentProgress } from './agent-progress.ts'
import { Control, type HostRequest, type ControlResponse } from './control.ts'
import { PromptIntake } from './prompt-intake.ts'
import { HostMessages } from './host-messages.ts'
import { type InitializeRequest, readInitialize } from './initialize.ts'
import { lineOf, type Line, LineReader, longestLineMiB, waitingSender, typeText } from './lines.ts'
import { openForHost } from './open-for-host.ts'
import { type HostSession, whenWaitingForAnswer } from './host-session.ts'
import { answerInitialize, serveRequest } from './requests.ts'
import { resultWithoutRun } from './result-without-run.ts'
import type { RequestContext } from './request-context.ts'
import { StateLines, stateReaderOf } from './state-lines.ts'
import { withStatusCommands } from './status-commands.ts'
import { StatusQueue } from './status-queue.ts'

/** How long to wait, after a signal, for a session that is being opened. Hosts kill the program after five seconds. */
const patienceMs = 1_000
/** How long to wait for a cluster that does not respond at the end of stdin. */
const maxPatienceMs = 30_000

/**
 * Serves a host until its input ends and everything it submitted has a result. Returns the exit code.
 * @param open Opens the session; by default from flags and settings.
 */
export async function serveHost(
  flags: Flags,
  program: Program,
  open: typeof openForHost = openForHost,
): Promise<number> {
  const interruption = watchInterruption(program.output)
  const host = new Host({ flags, program, interruption, open })
  try {
    return await host.serve()
  } finally {
    interruption.release()
  }
}

interface HostParts {
  readonly flags: Flags
  readonly program: Program
  readonly interruption: Interruption
  readonly open: typeof openForHost
}

/**
 * H1: the session is opened once: by `initialize`, or by the first line that needs it.
 * H2: messages before a request are submitted before the request is served.
 * H3: every submitted message has a result line. The end of stdin interrupts nothing.
 * H4: a session on a cluster is released and continues there; at a signal, immediately.
 */
class Host {
  readonly #flags: Flags
  readonly #program: Program
  readonly #interruption: Interruption
  readonly #openWith: typeof openForHost
  readonly #control: Control
  readonly #states: StateLines
  readonly #intake: PromptIntake
  readonly #progress = new AgentProgress()
  readonly #messages = new HostMessages()
  readonly #status: StatusQueue
  /** Messages that are replayed once they are on disk. */
  #replays: Promise<void> = Promise.resolve()
  /** What `initialize` contained; undefined before it. */
  #initialized: { readonly fields: JsonObject; readonly given: InitializeRequest } | undefined
  #resolveInitialize: () => void = () => undefined
  /** Resolves when `initialize` has arrived, or can no longer arrive. */
  readonly #initializeReceived = new Promise<void>((resolve) => {
    this.#resolveInitialize = resolve
  })
  #opening: Promise<HostSession> | undefined
  /** Whether the session is being opened, so that `initialize` is too late. */
  #isOpening = false
  #hostSession: HostSession | undefined
  /** The commands of the last `commands_changed`. */
  #reportedCommands: readonly JsonObject[] | undefined
  /** Whether the last result line is an error: of a run, or of a message that started no run. */
  #lastError: 'none' | 'of_run' | 'of_message' = 'none'
  /** Why the session could not be opened. */
  #openFailure: { readonly error: unknown } | undefined
  #leave: () => void = () => undefined

  constructor({ flags, program, interruption, open }: HostParts) {
    this.#flags = flags
    this.#program = program
    this.#interruption = interruption
    this.#openWith = open
    this.#states = new StateLines((line) => this.#write(line), stateReaderOf(flags, program.env))
    this.#control = new Control({
      write: (message) => this.#write(message),
      serve: (request) => this.#serve(request),
      emit: (message) => this.#emit(message),
      warn: (text) => this.#warn(text),
    })
    this.#intake = new PromptIntake({
      opened: () => this.#hostSession,
      open: () => this.#open(),
      answer: (command, id) => this.#status.add(command, id),
      answering: () => this.#status.answering,
      // If the session could not be opened, that error is reported instead.
      onFailure: (thrown) => {
        if (this.#openFailure === undefined) this.#reportFailure(messageOf(thrown))
      },
      isLeaving: () => interruption.signal.aborted,
      replays: flags.replayUserMessages === true,
    })
    this.#status = new StatusQueue({
      opened: () => this.#hostSession,
      isInRun: () => this.#states.isOpen,
      write: (line) => this.#writeStatus(line),
      replayed: (id) => this.#intake.takeReplayLines([id], this.#sessionId()),
      flags,
      program,
    })
  }

  /** @throws UsageError and others if the session cannot be opened. */
  async serve(): Promise<number> {
    const { stdin } = this.#program
    const { signal } = this.#interruption
    const left = new Promise<void>((resolve) => {
      this.#leave = resolve
      signal.addEventListener('abort', () => resolve(), { once: true })
    })
    let hasLeft = false
    const read = this.#read().catch((error: unknown) => {
      // Stopping before the end of the stream also raises an error.
      if (!hasLeft) this.#warn(`stdin cannot be read (${messageOf(error)})`)
    })
    await Promise.race([read, left])
    hasLeft = true
    stdin.destroy()
    this.#resolveInitialize()
    this.#control.disconnect('The host closed its input and can no longer answer.')
    if (!signal.aborted) await this.#finish(left)
    await this.#end()
    // A host that rejects a resume reads the reason in a result line.
    if (this.#openFailure !== undefined && !(this.#openFailure.error instanceof ResumeRejectedError))
      throw this.#openFailure.error
    return this.#exitCode()
  }

  /** Waits until everything submitted is finished, and every request is answered. */
  async #finish(left: Promise<void>): Promise<void> {
    const finished = async (): Promise<void> => {
      await this.#intake.waiting
      await this.#control.allAnswered()
      if (this.#hostSession !== undefined) await this.#whenSettled(this.#hostSession)
    }
    await Promise.race([finished(), left])
  }

  /** Detaches from a session on a cluster that waits for an answer, because nobody here can give one. */
  async #whenSettled({ session, detached }: HostSession): Promise<void> {
    const settled = async (): Promise<void> => {
      await session.settled()
      await this.#status.settled()
    }
    if (detached === undefined) return settled()
    if ((await Promise.race([settled(), whenWaitingForAnswer(session, detached)])) === 'waits')
      this.#warn(detached.message)
    this.#states.update(session)
  }

  async #end(): Promise<void> {
    const isAborted = this.#interruption.signal.aborted
    const opening = this.#opening?.catch(() => undefined)
    // Processes that are starting end with the program.
    const opened = this.#hostSession ?? (await (isAborted ? Promise.race([opening, setTimeout(patienceMs)]) : opening))
    if (opened === undefined) return
    const { session, detached } = opened
    if (detached !== undefined) {
      const left = isAborted ? detached.leaveMessage() : undefined
      if (left !== undefined) this.#warn(left)
      await Promise.race([
        opened.close(),
        setTimeout(isAborted ? patienceMs : maxPatienceMs, undefined, { ref: false }),
      ])
      return
    }
    if (isAborted) session.interrupt({ queue: 'give_back', because: causeOf(this.#interruption.signal) })
    await session.settled()
    await this.#replays.catch(() => undefined)
    await opened.close()
  }

  /** The exit code: an error of the last result is one of the program (spec R-HOST-8). */
  #exitCode(): number {
    const { exitCode } = this.#interruption
    if (this.#lastError === 'none') return exitCode ?? 0
    const terminal = this.#lastError === 'of_run' ? this.#hostSession?.session.snapshot.last : undefined
    return terminal === undefined ? 1 : exitCodeOf(terminal, exitCode)
  }

  async #read(): Promise<void> {
    const reader = new LineReader()
    for await (const chunk of this.#program.stdin as AsyncIterable<Buffer>)
      for (const line of reader.push(chunk)) this.#takeLine(line)
    for (const line of reader.end()) this.#takeLine(line)
  }

  #takeLine(line: Line): void {
    if (line.kind === 'too long') return this.#refuseLong(line.head)
    if (line.kind === 'broken') {
      this.#warn(`ignored a line on stdin that ${line.because}: ${oneLine(line.text, 100)}`)
      return
    }
    const { value } = line
    if (this.#control.receive(value)) return
    if (value['type'] === 'user') this.#intake.take(value)
    else this.#warn(`ignored a line of the type ${typeText(value)}.`)
  }

  /** Answers an overlong line if the host waits for an answer. */
  #refuseLong(head: string): void {
    const size = `more than ${longestLineMiB} MiB`
    const sender = waitingSender(head)
    if (sender === 'message')
      this.#reportFailure(
        `The message has ${size} and was not read. Send it in parts, or put it in a file and name the file.`,
      )
    else if (sender === undefined) this.#warn(`ignored a line on stdin with ${size}: ${oneLine(head, 100)}`)
    else this.#control.refuse(sender.requestId, `The request has ${size} and was not read.`)
  }

  #serve(request: HostRequest): ControlResponse | Promise<ControlResponse> {
    this.#debug(`the host asks: ${request.subtype}`)
    if (request.subtype === 'initialize') return this.#initialize(request.fields)
    const [opened, handing] = [this.#hostSession, this.#intake.waiting]
    if (opened !== undefined && handing === undefined) return serveRequest(request, this.#serving(opened))
    return this.#serveLater(request, handing)
  }

  /** Submits earlier messages before it serves a request. */
  async #serveLater(request: HostRequest, handing: Promise<void> | undefined): Promise<ControlResponse> {
    await handing
    return serveRequest(request, this.#serving(await this.#open()))
  }

  #serving(opened: HostSession): RequestContext {
    return { hostSession: opened, control: this.#control }
  }

  async #initialize(fields: JsonObject): Promise<ControlResponse> {
    if (this.#initialized === undefined && !this.#isOpening) {
      try {
        const given = readInitialize(fields, this.#flags)
        this.#initialized = { fields, given }
        this.#resolveInitialize()
        for (const line of given.warnings) this.#warn(line)
      } catch (thrown) {
        this.#failToOpen(thrown)
        throw thrown
      }
    }
    const opened = await this.#open()
    return answerInitialize(opened, { fields, first: this.#initialized, control: this.#control })
  }

  /** Opens the session on the first call. */
  #open(): Promise<HostSession> {
    return (this.#opening ??= this.#openNow())
  }

  async #openNow(): Promise<HostSession> {
    if (this.#initialized === undefined) {
      const { awaitInitialize } = this.#flags
      // Other lines that arrived together may contain `initialize`, which goes first.
      await (awaitInitialize === true ? this.#initializeReceived : setImmediate())
    }
    this.#isOpening = true
    try {
      const given = this.#initialized?.given ?? readInitialize({}, this.#flags)
      const opened = await this.#openWith(given, this.#control, this.#program)
      this.#hostSession = opened
      this.#states.setInitialMode(opened.session)
      const hear = (event: SessionEvent): void => this.#onEvent(opened, event)
      opened.session.listen(opened.interceptEvents?.(hear) ?? hear)
      return opened
    } catch (thrown) {
      this.#failToOpen(thrown)
      throw thrown
    }
  }

  /** Reports why the session cannot be opened, and ends the program. */
  #failToOpen(error: unknown): void {
    if (this.#openFailure === undefined && error instanceof ResumeRejectedError) this.#reportFailure(messageOf(error))
    this.#openFailure ??= { error }
    // Pending responses are written first.
    void this.#leaveSoon()
  }

  async #leaveSoon(): Promise<void> {
    await setImmediate()
    this.#leave()
  }

  #onEvent({ session }: HostSession, event: SessionEvent): void {
    switch (event.type) {
      case 'message':
        this.#onMessage(event.message)
        return
      case 'run_start':
        this.#states.onRunStart(event.ids)
        return
      case 'taken':
        this.#replay(event.ids)
        return
      case 'run_end':
        this.#lastError = resultForHosts(event.result).is_error ? 'of_run' : 'none'
        this.#states.onRunEnd()
        this.#states.update(session)
        this.#status.wake()
        return
      case 'changed':
        this.#states.update(session)
        this.#status.wake()
        return
      case 'failed':
        // A failure after the result of a run does not affect that result or the next run.
        if (event.isAfterRun === true) {
          this.#warn(messageOf(event.error))
          return
        }
        if (event.givenBack.length > 0 || this.#states.isOpen) this.#reportFailure(messageOf(event.error))
        else this.#warn(messageOf(event.error))
        this.#states.onRunEnd()
        this.#status.wake()
        return
      case 'note':
        this.#warn(event.text)
        return
      case 'loop':
        for (const line of this.#progress.linesFor(event.event, this.#sessionId())) this.#write(line)
        return
      case 'question':
      case 'question_closed':
      case 'limit_question':
      case 'limit_question_closed':
      case 'closed':
    }
  }

  #onMessage(message: SdkMessage): void {
    const { flags, forwardsAgentText } = this.#initialized?.given ?? { flags: this.#flags, forwardsAgentText: false }
    this.#status.onMessage(message)
    const line = this.#messages.lineFor(message, { flags, forwardsAgentText })
    if (line === undefined || this.#intake.isReplayed(message.uuid)) return
    this.#write(line)
    if (message.type !== 'system' || message.subtype !== 'init') return
    const ids = this.#states.onInitWritten()
    if (this.#hostSession !== undefined) {
      this.#states.update(this.#hostSession.session)
      this.#emitCommandChanges(this.#hostSession)
    }
    this.#replay(ids)
  }

  /** Reports commands that MCP servers added after the response to `initialize` (spec R-HOST-21). */
  #emitCommandChanges({ initializeResponse: about, commands }: HostSession): void {
    const now = withStatusCommands(commands())
    if (this.#initialized === undefined || isDeepStrictEqual(now, this.#reportedCommands ?? about['commands'])) return
    this.#reportedCommands = now
    this.#emit({ type: 'system', subtype: 'commands_changed', commands: [...now] })
  }

  /** Replays messages once they are on disk, so that a host can rely on them even if it then kills the program. */
  #replay(ids: readonly string[]): void {
    const lines = this.#intake.takeReplayLines(ids, this.#sessionId())
    if (lines.length === 0 || this.#hostSession === undefined) return
    const { flush } = this.#hostSession
    const writeLines = (): void => {
      for (const line of lines) this.#write(line)
    }
    if (flush === undefined) return writeLines()
    this.#replays = this.#replays.then(flush).then(writeLines)
    // A disk failure ends the run, which reports it.
    this.#replays.catch(() => undefined)
  }

  #emit(message: JsonObject): void {
    this.#write({ ...message, uuid: randomUUID(), session_id: this.#sessionId() })
  }

  #sessionId(): string {
    return this.#hostSession?.session.id ?? this.#flags.sessionId ?? ''
  }

  /** Reports a message that could not start a run, with a result line. */
  #reportFailure(message: string): void {
    this.#lastError = 'of_message'
    this.#warn(message)
    const costUsd = this.#hostSession?.session.snapshot.figures.sessionUsd ?? 0
    this.#write(resultWithoutRun({ sessionId: this.#sessionId(), costUsd, error: message }))
  }

  #writeStatus(line: object): void {
    if ('is_error' in line) this.#lastError = line.is_error === true ? 'of_message' : 'none'
    this.#write(line)
  }

  #write(message: object): void {
    this.#program.output.out(lineOf(message))
  }

  #warn(text: string): void {
    this.#program.output.err(programMessage(text))
  }

  #debug(text: string): void {
    if (this.#flags.debug !== undefined) this.#warn(oneLine(text, 500))
  }
}
