import type { SdkMessage } from '@halting/core'
import { createTranslator } from '@halting/core/adapters'
import type { Watcher } from '../headless/watcher.ts'

/** Emits the partial messages that this client requested, built from the events of the run. Partial messages of the worker are dropped. */
export function withPartialMessages(watcher: Watcher, sessionId: string, isWanted: boolean): Watcher {
  const translator = createTranslator({ sessionId, runId: 'partial', includePartialMessages: true })
  let isCompacting = false
  /** Whether the worker emitted this partial message. */
  const isFromWorker = (message: SdkMessage): boolean => {
    if (message.type === 'stream_event') return true
    if (message.type !== 'system' || message.subtype !== 'status') return false
    const isAboutCompaction = isCompacting || message.status === 'compacting'
    isCompacting = message.status === 'compacting'
    return !isAboutCompaction
  }
  return {
    ...watcher,
    onEvent(event) {
      watcher.onEvent(event)
      if (!isWanted) return
      const inner = event.type === 'agent' ? event.event : event
      if (inner.type !== 'model_update' && inner.type !== 'model_start' && inner.type !== 'model_end') return
      for (const message of translator.messages(event))
        if (message.type === 'stream_event' || (message.type === 'system' && message.subtype === 'status'))
          watcher.see(message)
    },
    see(message) {
      if (!isFromWorker(message)) watcher.see(message)
    },
  }
}
