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

/** A session on the screen: finished blocks are printed above, unfinished ones are drawn below. */
export interface Conversation {
  readonly live: Component
  /** Whether a line shows that the model is silent. */
  readonly isAwaiting: boolean
  readonly todos: readonly TodoItem[]
  /** The actions offered after an ending; none during a run. */
  readonly offered: readonly OfferedAction[]
  /** When the actions were offered, in milliseconds of the program's clock. */
  readonly offeredAt: number
  /** Called when a message was sent, so that the offered actions no longer apply. */
  withdrawOffers(): void
  /** Shows a session from now on, after its earlier conversation. */
  show(open: OpenSession, before: readonly TranscriptEntry[]): void
}

interface Options {
  readonly style: Style
  readonly markdown: () => MarkdownStream
  readonly print: (block: Block) => void
  readonly changed: () => void
  readonly now: () => number
  /** Receives the events of the session, after they are shown. */
  readonly onEvent: (event: SessionEvent) => void
}

/** Maximum number of entries of an earlier conversation that are printed, counted from its end. */
const maxBefore = 40

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
      if (before.length > maxBefore)
        print({ render: () => [style.dim(`(${before.length - maxBefore} earlier parts: Ctrl+O)`)] })
      // All entries are processed, because the last ones may refer to earlier ones.
      for (const [index, entry] of before.entries()) {
        const blocks = shown.see({ type: 'loop', event: { type: 'message', entry } })
        if (index >= before.length - maxBefore) blocks.forEach(print)
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

/** The activity of the model of the main conversation while no text of its reply arrives (spec R-TERM-22a). */
interface AwaitedReply {
  onEvent(event: RunEvent): void
  /** Whether nothing was visible for two seconds. */
  readonly isSilent: boolean
  /** One line after two seconds of silence; none otherwise. */
  lines(width: number, style: Style): readonly string[]
}

/** Delay in milliseconds before the line; most replies start sooner. */
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
  // Text is drawn as it arrives; thinking and the input of calls are not.
  if (update.type === 'text_delta') [awaited.what, awaited.seenAt] = ['waiting for the rest of the reply', now]
  if (update.type === 'thinking_delta') awaited.what = 'thinking'
  if (update.type !== 'api_event' || update.event['type'] !== 'content_block_start') return
  const { content_block: block } = update.event
  if (block === undefined || !isJsonObject(block) || block['type'] !== 'tool_use') return
  awaited.what = typeof block['name'] === 'string' ? `writing a tool call (${block['name']})` : 'writing a tool call'
}
