import type { RunEvent } from '@halting/core'
import { isJsonObject, type ModelUpdate } from '@halting/core/adapters'
import { oneLine, stopwatch } from '../../io/figures.ts'
import type { Style } from '../../io/style.ts'

/** What the model of the main conversation does while nothing of its reply can be seen (spec R-TERM-22a). */
export interface AwaitedModel {
  onEvent(event: RunEvent): void
  /** Nothing was seen for two seconds. */
  readonly isSilent: boolean
  /** One line, once nothing was seen for two seconds; none otherwise. */
  lines(width: number, style: Style): readonly string[]
}

/** A reply begins sooner as a rule. */
const silentMs = 2_000

export function followAwaited(now: () => number): AwaitedModel {
  let awaited: { what: string; seenAt: number } | undefined
  return {
    onEvent(event) {
      switch (event.type) {
        case 'model_start':
          awaited = { what: `waiting for ${event.model}`, seenAt: now() }
          return
        case 'model_update':
          if (awaited !== undefined) hear(event.update, awaited, now())
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

function hear(update: ModelUpdate, awaited: { what: string; seenAt: number }, now: number): void {
  // Text is on the screen as it comes; thinking and the input of a call are not.
  if (update.type === 'text_delta') [awaited.what, awaited.seenAt] = ['waiting for the rest of the reply', now]
  if (update.type === 'thinking_delta') awaited.what = 'thinking'
  if (update.type !== 'api_event' || update.event['type'] !== 'content_block_start') return
  const { content_block: block } = update.event
  if (block === undefined || !isJsonObject(block) || block['type'] !== 'tool_use') return
  awaited.what = typeof block['name'] === 'string' ? `writing a tool call (${block['name']})` : 'writing a tool call'
}
