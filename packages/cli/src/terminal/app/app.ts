import { basename } from 'node:path'
import type { NotificationChannel } from '@halting/policy/settings'
import type { SessionEvent } from '@halting/core/session'
import { ConfigurationError } from '@halting/core'
import { messageOf } from '@halting/core/adapters'
import type { Flags } from '../../flags/flags.ts'
import { linesOfTold } from '../../io/figures.ts'
import type { Program } from '../../program.ts'
import { UsageError } from '../../usage-error.ts'
import { completionOf } from '../completion/completion.ts'
import type { FileList } from '../completion/file-list.ts'
import { listedCommands, runCommand } from '../commands/table.ts'
import { promptEditor } from '../editor/prompt-editor.ts'
import type { PromptHistory } from '../history/history-file.ts'
import type { Action } from '../keys/actions.ts'
import { bindEditor, isKeyOf, keyTable } from '../keys/key-table.ts'
import type { Keybindings } from '../keys/keybindings.ts'
import { pager } from '../pager/pager.ts'
import { pickList } from '../pickers/pick-list.ts'
import { streamingMarkdown } from '../markdown/streaming-markdown.ts'
import type { Screen } from '../screen/screen-port.ts'
import { createShellCommands } from '../shell/shell-commands.ts'
import { modelReport } from '../shell/shell-command.ts'
import { dimBlock, errorBlock, noticeBlock } from '../view/message-blocks.ts'
import type { Theme } from '../theme.ts'
import { createAttention } from './attention.ts'
import type { AppContext, OpenSession, ClusterConnection } from './context.ts'
import { type Conversation, createConversation } from './conversation.ts'
import { createPromptSender, type When } from './prompt-sender.ts'
import { createKeyActions } from './key-actions.ts'
import { createLayout } from './layout.ts'
import { createOverlays } from './overlays.ts'
import { createSessionLoops } from './session-loops.ts'
import { createQuestions } from './show-questions.ts'
import { createStatusLines } from './status-lines.ts'
import { createSubmit } from './submit.ts'

export interface AppOptions {
  readonly screen: Screen
  readonly program: Program
  readonly flags: Flags
  /** Whose sessions `openSession` opens; those of this machine when absent. */
  readonly cluster?: ClusterConnection
  readonly bindings: Keybindings
  readonly history: PromptHistory
  /** What is completed behind an @; undefined where the files are on another machine. */
  readonly files: FileList | undefined
  readonly theme: Theme
  /** Opens a session; what it has to say meanwhile it writes on the output of the program that it is given. */
  readonly openSession: (flags: Flags, program: Program) => Promise<OpenSession>
  readonly branch: () => string
  /** How the terminal calls a person who looks elsewhere; `auto` when absent. */
  readonly notifications?: () => NotificationChannel
  /** Leaves the title of the terminal as it is. */
  readonly keepsTitle?: boolean
  /** Milliseconds, by the clock of the session. */
  readonly now: () => number
}

export interface App {
  /** Resolves with the exit code when the program is left, and everything is closed. Rejects with why the first session could not be opened. */
  readonly ended: Promise<number>
  /** The session that stood there when it was left. */
  readonly last: OpenSession | undefined
  /** Opens the session, and has that begin which the program was called for. */
  begin(first: { readonly prompt: string; readonly command?: string }): void
  /** What a person should know. */
  note(text: string): void
  /** Resolves when nothing that was sent is on its way, and no run goes on. */
  settled(): Promise<void>
  leave(exitCode: number): void
}

/** A session that is being opened, or closes, and takes longer than this is not waited for. */
const longestCloseMs = 10_000

/** The interactive program on a screen that was started. It keeps what is on the screen; the session keeps all else. */
export function createApp(options: AppOptions): App {
  const { screen, flags, cluster, bindings, history, theme, now } = options
  const { style } = theme
  const changed = (): void => screen.requestFrame()
  const print: AppContext['print'] = (block) => screen.print(block)
  const note = (text: string): void => print(noticeBlock(text, style))
  const fail = (thrown: unknown): void => {
    const isUsers = thrown instanceof UsageError || thrown instanceof ConfigurationError
    print(isUsers ? noticeBlock(thrown.message, style) : errorBlock(messageOf(thrown), style))
  }
  const program: Program = { ...options.program, output: { ...options.program.output, out: note, err: noteOfProgram } }
  function noteOfProgram(text: string): void {
    for (const line of linesOfTold(text)) note(line)
  }

  let open: OpenSession | undefined
  let opening: Promise<OpenSession>
  let hint = ''
  let isLeaving = false
  let isPaging = false
  let todosShown = false
  let onEnd: (exitCode: number) => void
  let onBroken: (thrown: unknown) => void
  const ended = new Promise<number>((resolve, reject) => {
    onEnd = resolve
    onBroken = reject
  })
  const overlays = createOverlays(() => {
    layout.arrange()
    questions.look()
  })
  const isCovered = (): boolean => isPaging || overlays.current !== undefined
  const isKey = (action: Action, data: string): boolean => isKeyOf(bindings, action, data)

  bindEditor(bindings)
  const editor = promptEditor({
    screen,
    style,
    onSubmit: (text) => submit(text, 'next'),
    onChange: changed,
    completion: completionOf({
      cwd: options.program.cwd,
      files: options.files,
      commands: () => [
        ...listedCommands(cluster).map(({ name, command }) => ({
          name,
          description: command.description,
          ...(command.argumentHint !== undefined && { argumentHint: command.argumentHint }),
          values: () => (command.values?.(context) ?? []).map((value) => ({ value, label: value })),
        })),
        ...(open?.commands ?? []),
      ],
    }),
  })
  for (const { text, cwd } of history.all) if (cwd === options.program.cwd) editor.remember(text)

  const handIn = createPromptSender({
    taker: () => opening,
    current: () => open?.session,
    note,
    giveBack: (texts) => editor.putBefore(texts),
    changed,
  })
  const shell = createShellCommands({
    style,
    place: () => ({
      cwd: context.cwd,
      env: open?.local?.commandEnvironment ?? options.program.env,
    }),
    print,
    ended(command, ran) {
      if (!command.isForModel) return
      const text = modelReport(command, ran)
      handIn.attach(open?.redact(text) ?? text)
    },
    changed,
  })
  const loops = createSessionLoops({ note, fail, changed })
  const context: AppContext = {
    screen,
    style,
    theme,
    program,
    flags,
    cluster,
    bindings,
    editor,
    history,
    promptSender: handIn,
    loops,
    get open() {
      return open
    },
    get cwd() {
      return open?.session.snapshot.cwd ?? options.program.cwd
    },
    isKey,
    print,
    printLines: (linesFor) => print({ render: linesFor }),
    note,
    fail,
    ask: (asked) => overlays.open((close) => pickList({ ...asked, style, isKey, changed, done: close })),
    overlay: (make) => overlays.open(make),
    page(page) {
      isPaging = true
      const done = (): void => {
        isPaging = false
        giveBack()
        questions.look()
      }
      const giveBack = screen.takeOver(pager({ ...page, style, isKey, changed, rows: () => screen.rows, done }))
    },
    switchSession: change,
    leave,
    toggleTodos() {
      const isEmpty = conversation.todos.length === 0
      todosShown = !todosShown && !isEmpty
      if (isEmpty) note('There are no todos.')
      changed()
    },
    changed,
  }
  const questions = createQuestions({
    app: context,
    now,
    isCovered,
    loadView: () => import('../view/question-view.ts'),
    toEditor(data) {
      if (!keyActions(data)) editor.component.handleInput?.(data)
    },
  })
  const attention = createAttention({
    screen,
    channel: options.notifications ?? (() => 'auto'),
    setsTitle: options.keepsTitle !== true,
    place: () => basename(context.cwd),
    snapshot: () => open?.session.snapshot,
  })
  const conversation = createConversation({
    style,
    markdown: () => streamingMarkdown(theme),
    print,
    changed,
    now,
    onEvent,
  })
  const submit = createSubmit(context, conversation, shell, now)
  const statusLines = createStatusLines(context, now)
  const layout = createLayout({
    app: context,
    conversation,
    shell,
    overlays,
    branch: options.branch,
    statusLines,
    hint: () => hint,
    isAsked: () => questions.isShown,
    todosShown: () => todosShown,
    isLeaving: () => isLeaving,
    now,
  })
  const keyActions = createKeyActions({
    app: context,
    keys: keyTable(bindings),
    shell,
    submit: (text: string, when: When) => submit(text, when),
    isCovered,
    isAsked: () => questions.isShown && !isPaging,
    now,
    hint(text) {
      if (text === hint) return
      hint = text
      changed()
    },
  })
  const unlisten = screen.onKey((data) => {
    attention.keyPressed()
    return questions.take(data) || keyActions(data)
  })

  function onEvent(event: SessionEvent): void {
    attention.onEvent(event)
    statusLines.onEvent(event)
    switch (event.type) {
      case 'taken':
        return handIn.forget(event.ids)
      case 'run_start':
        return handIn.forget(event.ids)
      case 'question':
      case 'question_closed':
      case 'changed':
        return questions.look()
      case 'failed':
        return handIn.restore(event.givenBack)
      default:
    }
  }

  async function show(next: OpenSession): Promise<void> {
    open = next
    const before = await next.earlierEntries()
    if (cluster !== undefined) print(dimBlock('', `Session ${next.session.id} on the cluster ${cluster.url}`, style))
    conversation.show(next, before)
    statusLines.show(next)
    loops.show(next)
    questions.show(next)
    attention.show(next)
    layout.arrange()
  }
  /** What is sent meanwhile waits for the session to stand there. */
  async function opened(chosen: Flags, says: string): Promise<OpenSession> {
    const next = await options.openSession(chosen, program)
    if (says !== '') note(says)
    await show(next)
    return next
  }
  async function change(chosen: Flags, says: string): Promise<void> {
    const before = await opening
    const next = opened(chosen, says)
    // Where it fails, what was sent goes into the one that stays.
    opening = next.catch(() => before)
    await next
    await before.session.close()
  }
  function leave(exitCode: number): void {
    if (isLeaving) return
    isLeaving = true
    // By a signal: what is written is found again.
    history.add(editor.written)
    changed()
    void (async () => {
      shell.stop()
      const closed = Promise.all([statusLines.close(), opening.then(({ session }) => session.close())])
      await Promise.race([closed, late(open)])
      await history.flush()
    })()
      .catch(fail)
      .finally(() => {
        stopTicking()
        attention.close()
        unlisten()
        onEnd(exitCode)
      })
  }

  const isAnimated = flags.noAnimation !== true
  const stopTicking = startTicking({ shell, loops, session: () => open?.session, conversation, isAnimated, changed })
  opening = new Promise(() => undefined)
  layout.arrange()
  return {
    ended,
    get last() {
      return open
    },
    begin({ prompt, command }) {
      opening = opened(flags, '')
      opening
        .then(() => {
          if (command !== undefined) runCommand(context, command)
          if (prompt.trim() !== '') submit(prompt, 'next')
        })
        .catch((thrown: unknown) => {
          stopTicking()
          unlisten()
          onBroken(thrown)
        })
    },
    note,
    async settled() {
      await handIn.settled()
      await open?.session.settled()
    },
    leave,
  }
}

/** Soon for a session that is not there yet. */
function late(open: OpenSession | undefined): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, open === undefined ? 1_000 : longestCloseMs))
}

/** A countdown with more left than this moves every five seconds: a run that waits for hours costs next to nothing. */
const longWaitMs = 60_000
const secondsOfLongWait = 5

interface Ticking {
  readonly shell: { readonly isRunning: boolean }
  readonly loops: { readonly isWaiting: boolean }
  readonly session: () => OpenSession['session'] | undefined
  readonly conversation: Pick<Conversation, 'isAwaiting'>
  /** Without animation the line appears, and its seconds stand. */
  readonly isAnimated: boolean
  readonly changed: () => void
}

/** What goes on is shown with its seconds; nothing moves where nothing does. Gives the way to end it. */
function startTicking({ shell, loops, session, conversation, isAnimated, changed }: Ticking): () => void {
  let wasAwaiting = false
  /** So many seconds pass without a look: what happens is shown by itself. */
  let toPass = 0
  /** Something shows its seconds. */
  const isRunning = (): boolean =>
    shell.isRunning || loops.isWaiting || (session()?.snapshot.status ?? 'idle') !== 'idle'
  /** Nothing moves but a countdown that is far from its end. */
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
