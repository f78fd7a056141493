import { once } from 'node:events'
import type { Answer } from './answer.ts'
import type { SessionSource } from './source.ts'

/** So often a reader of changes hears something, so that both sides notice when the other is gone. */
const beatMs = 15_000

/** Tells of changes, a line each, until the reader goes. What changes while it is slow is told once. */
export async function tellChanges(answer: Answer, source: SessionSource): Promise<void> {
  const waiting = new Set<string>()
  let isWriting = false
  const write = (line: string): void => {
    isWriting = true
    void answer
      .write(line)
      // Its reader is gone.
      .catch(() => undefined)
      .finally(() => {
        isWriting = false
        flush()
      })
  }
  const flush = (): void => {
    if (isWriting || waiting.size === 0 || answer.gone.aborted) return
    const keys = [...waiting]
    waiting.clear()
    write(`${JSON.stringify({ keys })}\n`)
  }
  const stop = source.watch((keys) => {
    for (const key of keys) waiting.add(key)
    flush()
  })
  const beat = setInterval(() => {
    if (!isWriting) write('\n')
  }, beatMs)
  try {
    if (!answer.gone.aborted) await once(answer.gone, 'abort')
  } finally {
    clearInterval(beat)
    stop()
  }
}
