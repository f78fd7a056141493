import type { SessionEvent } from '@halting/core/session'
import type { RunResult, TranscriptEntry } from '@halting/core'
import type { Style } from '../../io/style.ts'
import type { Block, Component } from '../screen/screen-port.ts'
import type { OfferedAction } from '../view/ending-actions.ts'
import { type EndingShown, endingShown, unendedShown } from '../view/ending-block.ts'
import { followAwaited } from '../view/awaited-model.ts'
import { createStreamView, type MarkdownStream, type StreamView } from '../view/stream-view.ts'
import type { TodoItem } from '../../frontends/todos.ts'
import type { OpenSession } from './context.ts'

/** What a session tells, on the screen: what is finished above, what is not below. */
export interface Conversation {
  readonly live: Component
  /** A line says that the model is silent. */
  readonly isAwaiting: boolean
  readonly todos: readonly TodoItem[]
  /** What can be done next, by what is typed and sent; none while a run goes on. */
  readonly offered: readonly OfferedAction[]
  /** Since when it is offered, in milliseconds of the program's clock. */
  readonly offeredAt: number
  /** Something was said: what was offered is not any more. */
  withdrawOffers(): void
  /** Shows a session from here on; with what was said in it before. */
  show(open: OpenSession, before: readonly TranscriptEntry[]): void
}

interface Options {
  readonly style: Style
  readonly markdown: () => MarkdownStream
  readonly print: (block: Block) => void
  readonly changed: () => void
  readonly now: () => number
  /** Hears what a session tells, once it is shown. */
  readonly onEvent: (event: SessionEvent) => void
}

/** Of a session that goes on so many of its last entries are shown again. */
const mostBefore = 40

export function createConversation({ style, markdown, print, changed, now, onEvent }: Options): Conversation {
  let view: StreamView | undefined
  let awaited = followAwaited(now)
  let offered: readonly OfferedAction[] = []
  let offeredAt = 0
  let unlisten = (): void => {}
  return {
    live: {
      render: (width) => (view === undefined ? [] : [...view.live.render(width), ...awaited.lines(width, style)]),
    },
    get isAwaiting() {
      return awaited.isSilent
    },
    get todos() {
      return view?.todos ?? []
    },
    get offered() {
      return offered
    },
    get offeredAt() {
      return offeredAt
    },
    withdrawOffers() {
      offered = []
    },
    show({ session, here }, before) {
      unlisten()
      const shown = createStreamView({ style, cwd: session.snapshot.cwd, markdown })
      view = shown
      awaited = followAwaited(now)
      offered = []
      if (before.length > mostBefore)
        print({ render: () => [style.dim(`(${before.length - mostBefore} earlier parts: Ctrl+O)`)] })
      // All of them are seen, so that what the last ones refer to is known.
      for (const [index, entry] of before.entries()) {
        const blocks = shown.see({ type: 'loop', event: { type: 'message', entry } })
        if (index >= before.length - mostBefore) blocks.forEach(print)
      }
      const offer = (ending: EndingShown): void => {
        print(ending.block)
        offered = ending.actions
        offeredAt = now()
      }
      const end = (terminal: RunResult, canResume: boolean): void => {
        const { limits } = session.snapshot
        const { changes, todos } = shown
        const canUndo = here !== undefined && changes !== ''
        offer(endingShown({ terminal, limits, canResume, canUndo, changes, todos }, style))
      }
      const { last, canResume, status } = session.snapshot
      const isOver = before.length > 0 && status === 'idle'
      if (isOver && last !== undefined) end(last, canResume)
      else if (isOver && canResume) offer(unendedShown(style))
      unlisten = session.listen((event) => {
        if (event.type === 'run_start') offered = []
        shown.see(event).forEach(print)
        if (event.type === 'loop') awaited.onEvent(event.event)
        if (event.type === 'run_end') end(event.terminal, session.snapshot.canResume)
        onEvent(event)
        changed()
      })
      changed()
    },
  }
}
