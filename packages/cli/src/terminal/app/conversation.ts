import type { SessionEvent } from '@halting/core/session'
import type { RunResult, TranscriptEntry, RunEvent } from '@halting/core'
import type { Style } from '../../io/style.ts'
import type { Block, Component } from '../screen/screen-port.ts'
import type { OfferedAction } from '../view/ending-actions.ts'
import { type EndingShown, endingShown, unendedShown } from '../view/ending-block.ts'
import { createStreamView, type MarkdownStream, type StreamView } from '../view/stream-view.ts'
import type { TodoItem } from '../../frontends/todos.ts'
import type { OpenSession } from './context.ts'
import { isJsonObject, type ModelUpdate } from '@halting/core/adapters'
import { oneLine, stopwatch } from '../../io/figures.ts'

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
  let awaited = followAwaitedReply(now)
  let offeredActions: readonly OfferedAction[] = []
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
      return offeredActions
    },
    get offeredAt() {
      return offeredAt
    },
    withdrawOffers() {
      offeredActions = []
    },
    show({ session, local: here }, before) {
      unlisten()
      const shown = createStreamView({ style, cwd: session.snapshot.cwd, markdown })
      view = shown
      awaited = followAwaitedReply(now)
      offeredActions = []
      if (before.length > mostBefore)
        print({ render: () => [style.dim(`(${before.length - mostBefore} earlier parts: Ctrl+O)`)] })
      // All of them are seen, so that what the last ones refer to is known.
      for (const [index, entry] of before.entries()) {
        const blocks = shown.see({ type: 'loop', event: { type: 'message', entry } })
        if (index >= before.length - mostBefore) blocks.forEach(print)
      }
      const offer = (ending: EndingShown): void => {
        print(ending.block)
        offeredActions = ending.actions
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
        if (event.type === 'run_start') offeredActions = []
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

/** What the model of the main conversation does while nothing of its reply can be seen (spec R-TERM-22a). */
interface AwaitedReply {
  onEvent(event: RunEvent): void
  /** Nothing was seen for two seconds. */
  readonly isSilent: boolean
  /** One line, once nothing was seen for two seconds; none otherwise. */
  lines(width: number, style: Style): readonly string[]
}

/** A reply begins sooner as a rule. */
const silentMs = 2_000

export function followAwaitedReply(now: () => number): AwaitedReply {
  let awaited: { what: string; seenAt: number } | undefined
  return {
    onEvent(event) {
      switch (event.type) {
        case 'model_start':
          awaited = { what: `waiting for ${event.model}`, seenAt: now() }
          return
        case 'model_update':
          if (awaited !== undefined) onModelUpdate(event.update, awaited, now())
          return
        case 'model_end':
        case 'retry':
        case 'run_end':
          awaited = undefined
          return
        default:
      }
    },
    get isSilent() {
      return awaited !== undefined && now() - awaited.seenAt >= silentMs
    },
    lines(width, style) {
      if (awaited === undefined || now() - awaited.seenAt < silentMs) return []
      return [style.dim(`  ${oneLine(`${awaited.what} · ${stopwatch(now() - awaited.seenAt)}`, width - 2)}`)]
    },
  }
}

function onModelUpdate(update: ModelUpdate, awaited: { what: string; seenAt: number }, now: number): void {
  // Text is on the screen as it comes; thinking and the input of a call are not.
  if (update.type === 'text_delta') [awaited.what, awaited.seenAt] = ['waiting for the rest of the reply', now]
  if (update.type === 'thinking_delta') awaited.what = 'thinking'
  if (update.type !== 'api_event' || update.event['type'] !== 'content_block_start') return
  const { content_block: block } = update.event
  if (block === undefined || !isJsonObject(block) || block['type'] !== 'tool_use') return
  awaited.what = typeof block['name'] === 'string' ? `writing a tool call (${block['name']})` : 'writing a tool call'
}
