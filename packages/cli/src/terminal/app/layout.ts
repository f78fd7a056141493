import { fitted, columnsOf } from '../../io/columns.ts'
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
  /** A question of the session is in the place of the editor. */
  readonly isAsked: () => boolean
  /** Whether the list of things to do is shown. */
  readonly todosShown: () => boolean
  readonly isLeaving: () => boolean
  readonly now: () => number
}

/** What stands below what was printed, from top to bottom (spec R-TERM-60). */
export interface Layout {
  /** Something stands in the place of the editor, or does not any more. */
  arrange(): void
}

export function createLayout({
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
}: Options): Layout {
  const { style, screen, editor } = app
  const snapshot = () => app.open?.session.snapshot
  const whenOpen = (component: Component): Component => ({
    render: (width) => (app.open === undefined ? [] : component.render(width)),
  })
  const panel = stopPanel(() => ({ ...present(), ...limitsOf(app.open) }), style, now)
  const bar = (): StatusInput => ({ snapshot: present(), branch: branch(), keys: keyHints(), areKeysFirst: isAsked() })
  const status = statusLines.above(statusBar(() => ({ ...bar(), ...besideSession(app, statusLines) }), style))
  const queue = queueLines(() => snapshot()?.queue ?? [], style)
  const onTheWay: Component = {
    render: (width) => [
      ...app.promptSender.unsentTexts.map((text) => style.dim(oneLine(`sending "${text}"`, width))),
      ...(app.promptSender.attachedCount === 0
        ? []
        : [
            style.dim(
              oneLine(
                `the output of ${many(app.promptSender.attachedCount, 'command')} goes with the next message`,
                width,
              ),
            ),
          ]),
    ],
  }
  const todos: Component = {
    render: (width) => (todosShown() ? todoLines(conversation.todos, width, style) : []),
  }
  const opening: Component = {
    render: (width) => (app.open === undefined ? [style.dim(fitted(' opening the session …', width))] : []),
  }
  const leaving: Component = {
    render: (width) => (isLeaving() ? [style.dim(fitted(' quitting …', width))] : []),
  }

  function present() {
    const standing = snapshot()
    // Only asked where a session is open.
    if (standing === undefined) throw new Error('No session is open.')
    return standing
  }
  function key(action: Action): string {
    return keyName(app.bindings, action)
  }
  function keyHints(): readonly string[] {
    if (hint() !== '') return [hint()]
    if (isAsked()) {
      const stop = key('clear')
      return stop === '' ? ['Esc stop'] : [`Esc or ${stop} stop`, `${stop} twice quit`]
    }
    if (overlays.current !== undefined) return []
    const here = app.cluster === undefined ? ['@ files', '! shell'] : []
    if (snapshot()?.status === 'idle') return [`${key('showKeys')} keys`, '/ commands', ...here]
    return runningHints(app, key)
  }
  return {
    arrange() {
      const covering = overlays.current
      const below = covering ?? editor.component
      editor.setFocused(covering === undefined)
      screen.setLive([
        conversation.live,
        shell.live,
        todos,
        queue,
        onTheWay,
        whenOpen(panel),
        below,
        opening,
        whenOpen(status),
        leaving,
      ])
      screen.setFocus(below)
      screen.requestFrame()
    },
  }
}

/** What the line below the editor knows beside the session. */
function besideSession({ loops }: AppContext, { isShown }: StatusLines): Pick<StatusInput, 'loop' | 'isShort'> {
  return { loop: loops.text, isShort: isShown }
}

/** What keys do while a run goes on. */
function runningHints(app: AppContext, key: (action: Action) => string): readonly string[] {
  const retry = isWaitingForService(app) ? [`${retryKey} ${key('send')} retry now`] : []
  return [...retry, `${key('interrupt')} stop`, `${key('send')} steer`, `${key('queue')} queue`]
}

/** What the panel knows of limits beside the session's own: the usual ones, and standing budgets. */
function limitsOf(open: Options['app']['open']) {
  return { usualLimits: open?.usualLimits, standing: open?.standingBudgets?.() }
}

/** Messages that no run has taken, with what becomes of each (spec R-TERM-23). */
export function queueLines(queue: () => readonly QueuedMessage[], style: Style): Component {
  return {
    render(width) {
      const waiting = queue()
      return (['next', 'later'] as const).flatMap((when) => {
        const messages = waiting.filter((message) => message.when === when)
        const [first] = messages
        const last = messages.at(-1)
        if (first === undefined || last === undefined) return []
        const said = messages.map(({ content }) => `"${displayLine(promptText(content), 200)}"`).join(', ')
        return [style.dim(` ${displayLine(`queued ${messages.length} ${where[when]}: ${said}`, width - 1)}`)]
      })
    },
  }
}

const where = { next: 'for the next turn', later: 'after the run' } as const

interface StatusInput {
  readonly snapshot: Pick<SessionSnapshot, 'status' | 'permissionMode' | 'model' | 'tasks'>
  /** `loop: round 3 of 10 in 9:12`; '' for no loop. */
  readonly loop?: string
  /** `main*`; '' where there is no repository. */
  readonly branch: string
  /** What the keys do now, the most needed first: `Esc stop`. */
  readonly keys: readonly string[]
  /** They stand before the model: where there is no room, it goes before they do. */
  readonly areKeysFirst?: boolean
  /** A command of the person says where one is: model and branch are left to it. */
  readonly isShort?: boolean
}

/** `accepts edits · sonnet-5.5 · main* · Esc stop · Enter steer`: mode first, keys go where there is no room (spec R-TERM-23). */
export function statusBar(input: () => StatusInput, style: Style): Component {
  return {
    render(width) {
      const { snapshot, branch, keys, loop = '', areKeysFirst = false, isShort = false } = input()
      const running = snapshot.tasks.filter(({ status }) => status === 'running').length
      const parts = [
        modeWords(snapshot.permissionMode).short,
        ...(loop === '' ? [] : [loop]),
        ...(areKeysFirst ? keys : []),
        // Of a session on a cluster it is known when a worker has it.
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
