import { basename } from 'node:path'
import type { NotificationChannel } from '@halting/policy/settings'
import type { SessionEvent } from '@halting/core/session'
import { ConfigurationError } from '@halting/core'
import { messageOf } from '@halting/core/adapters'
import type { Flags } from '../../flags/flags.ts'
import { programMessageLines } from '../../io/figures.ts'
import type { Program } from '../../program.ts'
import { UsageError } from '../../usage-error.ts'
import { completionOf } from '../completion/completion.ts'
import type { FileList } from '../completion/file-list.ts'
import { listedCommands, runCommand } from '../commands/table.ts'
import { type PromptEditor, promptEditor } from '../editor/prompt-editor.ts'
import type { PromptHistory } from '../history/history-file.ts'
import type { Action } from '../keys/actions.ts'
import { bindEditor, isKeyOf, keyTable } from '../keys/key-table.ts'
import type { Keybindings } from '../keys/keybindings.ts'
import { pager } from '../pager/pager.ts'
import { pickList } from '../pickers/pick-list.ts'
import { streamingMarkdown } from '../markdown/streaming-markdown.ts'
import type { Block, Screen } from '../screen/screen-port.ts'
import { createShellCommands, type ShellCommands } from '../shell/shell-commands.ts'
import { modelReport } from '../shell/shell-command.ts'
import { dimBlock, errorBlock, noticeBlock } from '../view/message-blocks.ts'
import type { Theme } from '../theme.ts'
import { type Attention, createAttention } from './attention.ts'
import type { AppContext, OpenSession, ClusterConnection } from './context.ts'
import { type Conversation, createConversation } from './conversation.ts'
import { createPromptSender, type PromptSender, type When } from './prompt-sender.ts'
import { createKeyActions } from './key-actions.ts'
import { createLayout, type Layout } from './layout.ts'
import { createOverlays, type Overlays } from './overlays.ts'
import { createSessionLoops } from './session-loops.ts'
import { createQuestions, type Questions } from './show-questions.ts'
import { createStatusLines, type StatusLines } from './status-lines.ts'
import { createSubmit } from './submit.ts'

export interface AppOptions {
  readonly screen: Screen
  readonly program: Program
  readonly flags: Flags
  /** The cluster whose sessions `openSession` opens; absent: sessions of this machine. */
  readonly cluster?: ClusterConnection
  readonly bindings: Keybindings
  readonly history: PromptHistory
  /** Files for completion after an @; undefined if the files are on another machine. */
  readonly files: FileList | undefined
  readonly theme: Theme
  /** Opens a session. Messages go to the output of the given program. */
  readonly openSession: (flags: Flags, program: Program) => Promise<OpenSession>
  readonly branch: () => string
  /** How the terminal alerts a person whose terminal is not in focus; `auto` when absent. */
  readonly notifications?: () => NotificationChannel
  /** Whether the title of the terminal stays unchanged. */
  readonly keepsTitle?: boolean
  /** Milliseconds, by the clock of the session. */
  readonly now: () => number
}

export interface App {
  /** Resolves with the exit code once the person quits and everything is closed. Rejects if the first session cannot be opened. */
  readonly ended: Promise<number>
  /** The session that was open last. */
  readonly last: OpenSession | undefined
  /** Opens the session, and starts the prompt or command of the command line. */
  begin(first: { readonly prompt: string; readonly command?: string }): void
  /** Shows a notice. */
  note(text: string): void
  /** Resolves when all messages are delivered and no run is in progress. */
  settled(): Promise<void>
  leave(exitCode: number): void
}

/** A session that takes longer to open or close is abandoned. */
const longestCloseMs = 10_000

/** The interactive program on a started screen. The program owns the screen content; the session owns all other state. */
export function createApp(options: AppOptions): App {
  return new InteractiveApp(options)
}

class InteractiveApp implements App {
  readonly #options: AppOptions
  readonly #screen: Screen
  readonly #flags: Flags
  readonly #cluster: ClusterConnection | undefined
  readonly #bindings: Keybindings
  readonly #history: PromptHistory
  readonly #theme: Theme
  readonly #now: () => number
  readonly #style: Theme['style']
  readonly #program: Program
  #open: OpenSession | undefined
  #opening: Promise<OpenSession> = new Promise(() => undefined)
  #hint = ''
  #isLeaving = false
  #isPaging = false
  #todosShown = false
  #onEnd: (exitCode: number) => void = () => undefined
  #onBroken: (thrown: unknown) => void = () => undefined
  readonly #overlays: Overlays
  readonly #editor: PromptEditor
  readonly #promptSender: PromptSender
  readonly #shell: ShellCommands
  readonly #loops = createSessionLoops({
    note: (text) => this.note(text),
    fail: (thrown) => this.#fail(thrown),
    changed: () => this.#changed(),
  })
  readonly #context: AppContext
  readonly #questions: Questions
  readonly #attention: Attention
  readonly #conversation: Conversation
  readonly #submit: (text: string, when: When) => void
  readonly #statusLines: StatusLines
  readonly #layout: Layout
  readonly #keyActions: (data: string) => boolean
  readonly #unlisten: () => void
  readonly #isAnimated: boolean
  readonly #stopTicking: () => void
  readonly ended: Promise<number>

  constructor(options: AppOptions) {
    this.#options = options
    ;({
      screen: this.#screen,
      flags: this.#flags,
      cluster: this.#cluster,
      bindings: this.#bindings,
      history: this.#history,
      theme: this.#theme,
      now: this.#now,
    } = options)
    ;({ style: this.#style } = this.#theme)
    this.#program = {
      ...options.program,
      output: {
        ...options.program.output,
        out: (text) => this.note(text),
        err: (text) => this.#noteProgramOutput(text),
      },
    }
    this.ended = new Promise<number>((resolve, reject) => {
      this.#onEnd = resolve
      this.#onBroken = reject
    })
    this.#overlays = createOverlays(() => {
      this.#layout.arrange()
      this.#questions.update()
    })
    bindEditor(this.#bindings)
    this.#editor = this.#createEditor()
    for (const { text, cwd } of this.#history.all) if (cwd === options.program.cwd) this.#editor.remember(text)
    this.#promptSender = createPromptSender({
      taker: () => this.#opening,
      current: () => this.#open?.session,
      note: (text) => this.note(text),
      giveBack: (texts) => this.#editor.putBefore(texts),
      changed: () => this.#changed(),
    })
    this.#shell = this.#createShell()
    this.#context = this.#createContext()
    this.#questions = this.#createQuestionOverlay()
    this.#attention = this.#createAttentionSignals()
    this.#conversation = this.#createConversationView()
    this.#submit = createSubmit(this.#context, this.#conversation, this.#shell, this.#now)
    this.#statusLines = createStatusLines(this.#context, this.#now)
    this.#layout = this.#createScreenLayout()
    this.#keyActions = this.#createActions()
    this.#unlisten = this.#screen.onKey((data) => {
      this.#attention.keyPressed()
      return this.#questions.take(data) || this.#keyActions(data)
    })
    this.#isAnimated = this.#flags.noAnimation !== true
    this.#stopTicking = startTicking({
      shell: this.#shell,
      loops: this.#loops,
      session: () => this.#open?.session,
      conversation: this.#conversation,
      isAnimated: this.#isAnimated,
      changed: () => this.#changed(),
    })
    this.#layout.arrange()
  }

  get last(): App['last'] {
    return this.#open
  }

  begin({ prompt, command }: { readonly prompt: string; readonly command?: string }): void {
    this.#opening = this.#openSession(this.#flags, '')
    this.#opening
      .then(() => {
        if (command !== undefined) runCommand(this.#context, command)
        if (prompt.trim() !== '') this.#submit(prompt, 'next')
      })
      .catch((thrown: unknown) => {
        this.#stopTicking()
        this.#unlisten()
        this.#onBroken(thrown)
      })
  }

  async settled(): Promise<void> {
    await this.#promptSender.settled()
    await this.#open?.session.settled()
  }

  #changed(): void {
    this.#screen.requestFrame()
  }

  #print(block: Block): void {
    this.#screen.print(block)
  }

  note(text: string): void {
    this.#print(noticeBlock(text, this.#style))
  }

  #fail(thrown: unknown): void {
    const isUsers = thrown instanceof UsageError || thrown instanceof ConfigurationError
    this.#print(isUsers ? noticeBlock(thrown.message, this.#style) : errorBlock(messageOf(thrown), this.#style))
  }

  #noteProgramOutput(text: string): void {
    for (const line of programMessageLines(text)) this.note(line)
  }

  #isCovered(): boolean {
    return this.#isPaging || this.#overlays.current !== undefined
  }

  #isKey(action: Action, data: string): boolean {
    return isKeyOf(this.#bindings, action, data)
  }

  #createEditor(): PromptEditor {
    return promptEditor({
      screen: this.#screen,
      style: this.#style,
      onSubmit: (text) => this.#submit(text, 'next'),
      onChange: () => this.#changed(),
      completion: completionOf({
        cwd: this.#options.program.cwd,
        files: this.#options.files,
        commands: () => [
          ...listedCommands(this.#cluster).map(({ name, command }) => ({
            name,
            description: command.description,
            ...(command.argumentHint !== undefined && { argumentHint: command.argumentHint }),
            values: () => (command.values?.(this.#context) ?? []).map((value) => ({ value, label: value })),
          })),
          ...(this.#open?.commands ?? []),
        ],
      }),
    })
  }

  #createShell(): ShellCommands {
    return createShellCommands({
      style: this.#style,
      place: () => ({
        cwd: this.#context.cwd,
        env: this.#open?.local?.commandEnvironment ?? this.#options.program.env,
      }),
      print: (block) => this.#print(block),
      ended: (command, ran) => {
        if (!command.isForModel) return
        const text = modelReport(command, ran)
        this.#promptSender.attach(this.#open?.redact(text) ?? text)
      },
      changed: () => this.#changed(),
    })
  }

  #createContext(): AppContext {
    return withLiveParts(
      {
        screen: this.#screen,
        style: this.#style,
        theme: this.#theme,
        program: this.#program,
        flags: this.#flags,
        cluster: this.#cluster,
        bindings: this.#bindings,
        editor: this.#editor,
        history: this.#history,
        promptSender: this.#promptSender,
        loops: this.#loops,
        isKey: (action, data) => this.#isKey(action, data),
        print: (block) => this.#print(block),
        printLines: (linesFor) => this.#print({ render: linesFor }),
        note: (text) => this.note(text),
        fail: (thrown) => this.#fail(thrown),
        ask: (asked) =>
          this.#overlays.open((close) =>
            pickList({
              ...asked,
              style: this.#style,
              isKey: (action, data) => this.#isKey(action, data),
              changed: () => this.#changed(),
              done: close,
            }),
          ),
        overlay: (make) => this.#overlays.open(make),
        page: (page) => {
          this.#isPaging = true
          const done = (): void => {
            this.#isPaging = false
            giveBack()
            this.#questions.update()
          }
          const giveBack = this.#screen.takeOver(
            pager({
              ...page,
              style: this.#style,
              isKey: (action, data) => this.#isKey(action, data),
              changed: () => this.#changed(),
              rows: () => this.#screen.rows,
              done,
            }),
          )
        },
        switchSession: (chosen, says) => this.#change(chosen, says),
        leave: (exitCode) => this.leave(exitCode),
        toggleTodos: () => {
          const isEmpty = this.#conversation.todos.length === 0
          this.#todosShown = !this.#todosShown && !isEmpty
          if (isEmpty) this.note('There are no todos.')
          this.#changed()
        },
        changed: () => this.#changed(),
      },
      { open: () => this.#open, cwd: () => this.#open?.session.snapshot.cwd ?? this.#options.program.cwd },
    )
  }

  #createQuestionOverlay(): Questions {
    return createQuestions({
      app: this.#context,
      now: this.#now,
      isCovered: () => this.#isCovered(),
      loadView: () => import('../view/question-view.ts'),
      toEditor: (data) => {
        if (!this.#keyActions(data)) this.#editor.component.handleInput?.(data)
      },
    })
  }

  #createAttentionSignals(): Attention {
    return createAttention({
      screen: this.#screen,
      channel: this.#options.notifications ?? (() => 'auto'),
      setsTitle: this.#options.keepsTitle !== true,
      place: () => basename(this.#context.cwd),
      snapshot: () => this.#open?.session.snapshot,
    })
  }

  #createConversationView(): Conversation {
    return createConversation({
      style: this.#style,
      markdown: () => streamingMarkdown(this.#theme),
      print: (block) => this.#print(block),
      changed: () => this.#changed(),
      now: this.#now,
      onEvent: (event) => this.#onEvent(event),
    })
  }

  #createScreenLayout(): Layout {
    return createLayout({
      app: this.#context,
      conversation: this.#conversation,
      shell: this.#shell,
      overlays: this.#overlays,
      branch: this.#options.branch,
      statusLines: this.#statusLines,
      hint: () => this.#hint,
      isAsked: () => this.#questions.isShown,
      todosShown: () => this.#todosShown,
      isLeaving: () => this.#isLeaving,
      now: this.#now,
    })
  }

  #createActions(): (data: string) => boolean {
    return createKeyActions({
      app: this.#context,
      keys: keyTable(this.#bindings),
      shell: this.#shell,
      submit: (text: string, when: When) => this.#submit(text, when),
      isCovered: () => this.#isCovered(),
      isAsked: () => this.#questions.isShown && !this.#isPaging,
      now: this.#now,
      hint: (text) => {
        if (text === this.#hint) return
        this.#hint = text
        this.#changed()
      },
    })
  }

  #onEvent(event: SessionEvent): void {
    this.#attention.onEvent(event)
    this.#statusLines.onEvent(event)
    switch (event.type) {
      case 'taken':
        return this.#promptSender.forget(event.ids)
      case 'run_start':
        return this.#promptSender.forget(event.ids)
      case 'question':
      case 'question_closed':
      case 'changed':
        return this.#questions.update()
      case 'failed':
        return this.#promptSender.restore(event.givenBack)
      default:
    }
  }

  async #show(next: OpenSession): Promise<void> {
    this.#open = next
    const before = await next.earlierEntries()
    if (this.#cluster !== undefined)
      this.#print(dimBlock('', `Session ${next.session.id} on the cluster ${this.#cluster.url}`, this.#style))
    this.#conversation.show(next, before)
    this.#statusLines.show(next)
    this.#loops.show(next)
    this.#questions.show(next)
    this.#attention.show(next)
    this.#layout.arrange()
  }

  /** Messages sent in the meantime wait until the session is open. */
  async #openSession(chosen: Flags, says: string): Promise<OpenSession> {
    const next = await this.#options.openSession(chosen, this.#program)
    if (says !== '') this.note(says)
    await this.#show(next)
    return next
  }

  async #change(chosen: Flags, says: string): Promise<void> {
    const before = await this.#opening
    const next = this.#openSession(chosen, says)
    // If opening fails, those messages go to the session that stays open.
    this.#opening = next.catch(() => before)
    await next
    await before.session.close()
  }

  leave(exitCode: number): void {
    if (this.#isLeaving) return
    this.#isLeaving = true
    // After a signal, the unsent text can be found in the prompt history.
    this.#history.add(this.#editor.fullText)
    this.#changed()
    void (async () => {
      this.#shell.stop()
      const closed = Promise.all([this.#statusLines.close(), this.#opening.then(({ session }) => session.close())])
      await Promise.race([closed, late(this.#open)])
      await this.#history.flush()
    })()
      .catch((thrown) => this.#fail(thrown))
      .finally(() => {
        this.#stopTicking()
        this.#attention.close()
        this.#unlisten()
        this.#onEnd(exitCode)
      })
  }
}

/** The context with the parts that change when another session is opened. */
function withLiveParts(
  fixed: Omit<AppContext, 'open' | 'cwd'>,
  live: { readonly open: () => AppContext['open']; readonly cwd: () => string },
): AppContext {
  return {
    ...fixed,
    get open() {
      return live.open()
    },
    get cwd() {
      return live.cwd()
    },
  }
}

/** Resolves when it is time to give up waiting; sooner if no session was ever open. */
function late(open: OpenSession | undefined): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, open === undefined ? 1_000 : longestCloseMs))
}

/** A countdown with more time left is redrawn every five seconds, so that a run that waits for hours costs almost nothing. */
const longWaitMs = 60_000
const secondsOfLongWait = 5

interface Ticking {
  readonly shell: { readonly isRunning: boolean }
  readonly loops: { readonly isWaiting: boolean }
  readonly session: () => OpenSession['session'] | undefined
  readonly conversation: Pick<Conversation, 'isAwaiting'>
  /** Whether animation is on. Without it, the line appears but its seconds do not advance. */
  readonly isAnimated: boolean
  readonly changed: () => void
}

/** Redraws each second while something shows its seconds. Returns a function that stops it. */
function startTicking({ shell, loops, session, conversation, isAnimated, changed }: Ticking): () => void {
  let wasAwaiting = false
  /** Number of seconds to skip; events trigger redraws independently. */
  let toPass = 0
  /** Whether something shows its seconds. */
  const isRunning = (): boolean =>
    shell.isRunning || loops.isWaiting || (session()?.snapshot.status ?? 'idle') !== 'idle'
  /** Whether nothing changes but a countdown that is far from its end. */
  const waitsLong = (): boolean => {
    const activity = shell.isRunning ? undefined : session()?.snapshot.activity
    return activity?.type === 'service_wait' && activity.untilMs - Date.now() > longWaitMs
  }
  const timer = setInterval(() => {
    if (toPass-- > 0) return
    toPass = waitsLong() ? secondsOfLongWait - 1 : 0
    const { isAwaiting } = conversation
    if (isAnimated ? isRunning() : isAwaiting !== wasAwaiting) changed()
    wasAwaiting = isAwaiting
  }, 1_000)
  return () => clearInterval(timer)
}
