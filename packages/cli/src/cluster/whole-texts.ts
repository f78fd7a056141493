import type { RunEvent } from '@halting/core'
import type { SdkAssistant } from '@halting/core/adapters'
import type { Watcher } from '../headless/watcher.ts'

/** A text whose pieces did not come here, as before the worker was reached, is told whole where it would have been told in pieces. */
export function withWholeTexts(watcher: Watcher): Watcher {
  let pieces = ''
  const hearPieces = (event: RunEvent): void => {
    if (event.type === 'model_start') pieces = ''
    if (event.type === 'model_update' && event.update.type === 'text_delta') pieces += event.update.text
  }
  const tellWhole = ({ message, error }: SdkAssistant): void => {
    const { model } = message
    const texts = message.content.flatMap((block) => (block.type === 'text' ? [block.text] : []))
    const missed = error === undefined ? texts.filter((text) => !pieces.includes(text)) : []
    if (missed.length === 0) return
    const reply = { request: 0, attempt: 0 }
    watcher.onEvent({ type: 'model_start', ...reply, model })
    for (const [index, text] of missed.entries())
      watcher.onEvent({ type: 'model_update', request: 0, entryId: '', update: { type: 'text_delta', index, text } })
    const came = { outcome: 'answered', usage: null, costUsd: 0, durationMs: 0 } as const
    watcher.onEvent({ type: 'model_end', ...reply, ...came })
  }
  return {
    ...watcher,
    onEvent(event) {
      watcher.onEvent(event)
      hearPieces(event)
    },
    see(message) {
      if (message.type === 'assistant' && message.parent_tool_use_id === null) tellWhole(message)
      watcher.see(message)
    },
  }
}
