import { truncateToColumns, columnsOf } from '../../io/columns.ts'
import { many, oneLine } from '../../io/figures.ts'
import type { Action } from '../keys/actions.ts'
import { keyName } from '../keys/key-table.ts'
import type { Component } from '../screen/screen-port.ts'
import type { ShellCommands } from '../shell/shell-commands.ts'
import { stopPanel } from '../view/stop-panel.ts'
import { todoLines } from '../view/todos.ts'
import type { AppContext } from './context.ts'
import type { Conversation } from './conversation.ts'
import type { Overlays } from './overlays.ts'
import type { StatusLines } from './status-lines.ts'
import { isWaitingForService, retryKey } from './submit.ts'
import type { QueuedMessage, SessionSnapshot } from '@halting/core/session'
import type { Style } from '../../io/style.ts'
import { displayLine } from '../view/lines.ts'
import { promptText } from '../view/prompt-text.ts'
import { modeWords } from '../../frontends/mode-words.ts'

interface Options {
  readonly app: AppContext
  readonly conversation: Conversation
  readonly shell: ShellCommands
  readonly overlays: Overlays
  readonly branch: () => string
  readonly statusLines: StatusLines
  readonly hint: () => string
  /** Whether a question of the session replaces the editor. */
  readonly isAsked: () => boolean
  /** Whether the todo list is shown. */
  readonly todosShown: () => boolean
  readonly isLeaving: () => boolean
  readonly now: () => number
}

/** The components below the printed lines, from top to bottom (spec R-TERM-60). */
export interface Layout {
  /** Call when something starts or stops covering the editor. */
  arrange(): void
}

export function createLayout(options: Options): Layout {
  return new ScreenLayout(options)
}

class ScreenLayout implements Layout {
  readonly #app: Options['app']
  readonly #conversation: Options['conversation']
  readonly #shell: Options['shell']
  readonly #overlays: Options['overlays']
  readonly #branch: Options['branch']
  readonly #hint: Options['hint']
  readonly #isAsked: Options['isAsked']
  readonly #style: AppContext['style']
  readonly #screen: AppContext['screen']
  readonly #editor: AppContext['editor']
  readonly #panel: Component
  readonly #status: Component
  readonly #queue: Component
  readonly #onTheWay: Component
  readonly #todos: Component
  readonly #opening: Component
  readonly #leaving: Component

  constructor({
    app,
    conversation,
    shell,
    overlays,
    branch,
    statusLines,
    hint,
    isAsked,
    todosShown,
    isLeaving,
    now,
  }: Options) {
    this.#app = app
    this.#conversation = conversation
    this.#shell = shell
    this.#overlays = overlays
    this.#branch = branch
    this.#hint = hint
    this.#isAsked = isAsked
    ;({ style: this.#style, screen: this.#screen, editor: this.#editor } = app)
    this.#panel = stopPanel(() => ({ ...this.#present(), ...limitsOf(app.open) }), this.#style, now)
    this.#status = statusLines.above(
      statusBar(() => ({ ...this.#bar(), ...besideSession(app, statusLines) }), this.#style),
    )
    this.#queue = queueLines(() => this.#snapshot()?.queue ?? [], this.#style)
    this.#onTheWay = { render: (width) => this.#unsentLines(width) }
    this.#todos = {
      render: (width) => (todosShown() ? todoLines(conversation.todos, width, this.#style) : []),
    }
    this.#opening = {
      render: (width) =>
        app.open === undefined ? [this.#style.dim(truncateToColumns(' opening the session …', width))] : [],
    }
    this.#leaving = {
      render: (width) => (isLeaving() ? [this.#style.dim(truncateToColumns(' quitting …', width))] : []),
    }
  }

  /** Messages that are being sent to the session, and command outputs that will be attached to the next message. */
  #unsentLines(width: number): readonly string[] {
    const { unsentTexts, attachedCount } = this.#app.promptSender
    const attached = `the output of ${many(attachedCount, 'command')} goes with the next message`
    const lines = [...unsentTexts.map((text) => `sending "${text}"`), ...(attachedCount === 0 ? [] : [attached])]
    return lines.map((line) => this.#style.dim(oneLine(line, width)))
  }

  arrange(): void {
    const covering = this.#overlays.current
    const below = covering ?? this.#editor.component
    this.#editor.setFocused(covering === undefined)
    this.#screen.setLive([
      this.#conversation.live,
      this.#shell.live,
      this.#todos,
      this.#queue,
      this.#onTheWay,
      this.#whenOpen(this.#panel),
      below,
      this.#opening,
      this.#whenOpen(this.#status),
      this.#leaving,
    ])
    this.#screen.setFocus(below)
    this.#screen.requestFrame()
  }

  #snapshot() {
    return this.#app.open?.session.snapshot
  }

  #whenOpen(component: Component): Component {
    return {
      render: (width) => (this.#app.open === undefined ? [] : component.render(width)),
    }
  }

  #bar(): StatusInput {
    return { snapshot: this.#present(), branch: this.#branch(), keys: this.#keyHints(), areKeysFirst: this.#isAsked() }
  }

  #present() {
    const current = this.#snapshot()
    // Only called while a session is open.
    if (current === undefined) throw new Error('No session is open.')
    return current
  }

  #key(action: Action): string {
    return keyName(this.#app.bindings, action)
  }

  #keyHints(): readonly string[] {
    if (this.#hint() !== '') return [this.#hint()]
    if (this.#isAsked()) {
      const stop = this.#key('clear')
      return stop === '' ? ['Esc stop'] : [`Esc or ${stop} stop`, `${stop} twice quit`]
    }
    if (this.#overlays.current !== undefined) return []
    const here = this.#app.cluster === undefined ? ['@ files', '! shell'] : []
    if (this.#snapshot()?.status === 'idle') return [`${this.#key('showKeys')} keys`, '/ commands', ...here]
    return runningHints(this.#app, (action) => this.#key(action))
  }
}

/** What the status bar shows in addition to the session. */
function besideSession({ loops }: AppContext, { isShown }: StatusLines): Pick<StatusInput, 'loop' | 'isShort'> {
  return { loop: loops.text, isShort: isShown }
}

/** The keys during a run. */
function runningHints(app: AppContext, key: (action: Action) => string): readonly string[] {
  const retry = isWaitingForService(app) ? [`${retryKey} ${key('send')} retry now`] : []
  return [...retry, `${key('interrupt')} stop`, `${key('send')} steer`, `${key('queue')} queue`]
}

/** What the panel shows in addition to the session: default limits and standing budgets. */
function limitsOf(open: Options['app']['open']) {
  return { usualLimits: open?.usualLimits, standing: open?.standingBudgets?.() }
}

/** Queued messages, with when each will be sent (spec R-TERM-23). */
export function queueLines(queue: () => readonly QueuedMessage[], style: Style): Component {
  return {
    render(width) {
      const waiting = queue()
      return (['next', 'later'] as const).flatMap((when) => {
        const messages = waiting.filter((message) => message.when === when)
        const [first] = messages
        const last = messages.at(-1)
        if (first === undefined || last === undefined) return []
        const texts = messages.map(({ content }) => `"${displayLine(promptText(content), 200)}"`).join(', ')
        return [style.dim(` ${displayLine(`queued ${messages.length} ${where[when]}: ${texts}`, width - 1)}`)]
      })
    },
  }
}

const where = { next: 'for the next turn', later: 'after the run' } as const

interface StatusInput {
  readonly snapshot: Pick<SessionSnapshot, 'status' | 'permissionMode' | 'model' | 'tasks'>
  /** `loop: round 3 of 10 in 9:12`; '' without a loop. */
  readonly loop?: string
  /** `main*`; '' without a repository. */
  readonly branch: string
  /** Key hints, the most important first: `Esc stop`. */
  readonly keys: readonly string[]
  /** Whether the keys precede the model, so that the model is omitted first. */
  readonly areKeysFirst?: boolean
  /** Whether the person's status line replaces model and branch. */
  readonly isShort?: boolean
}

/**
 * `accepts edits · sonnet-5.5 · main* · Esc stop · Enter steer`: the mode comes first, and keys are omitted if there is
 * not enough room (spec R-TERM-23).
 */
export function statusBar(input: () => StatusInput, style: Style): Component {
  return {
    render(width) {
      const { snapshot, branch, keys, loop = '', areKeysFirst = false, isShort = false } = input()
      const running = snapshot.tasks.filter(({ status }) => status === 'running').length
      const parts = [
        modeWords(snapshot.permissionMode).short,
        ...(loop === '' ? [] : [loop]),
        ...(areKeysFirst ? keys : []),
        // For a session on a cluster, the model is known only after a worker has reported it.
        ...(isShort || snapshot.model === '' ? [] : [snapshot.model]),
        ...(isShort || branch === '' ? [] : [branch]),
        ...(running === 0 ? [] : [`${running} in the background`]),
        ...(areKeysFirst ? [] : keys),
      ].map((part) => displayLine(part, 60))
      const fitting = parts.filter((_part, index) => columnsOf(parts.slice(0, index + 1).join(' · ')) < width)
      const shown = fitting.length === 0 ? displayLine(parts[0] ?? '', width - 1) : fitting.join(' · ')
      const isOpen = snapshot.permissionMode === 'bypassPermissions'
      return [` ${isOpen ? style.red(shown) : style.dim(shown)}`]
    },
  }
}
