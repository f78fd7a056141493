import { once } from 'node:events'
import type { SessionRow, SessionSource } from '@halting/analysis/view'
import type { ResponseWriter } from './response-writer.ts'

/** Interval of heartbeats, by which both sides detect a lost connection. */
const beatMs = 15_000

/** Rows are sent in batches of this size: reading them may take long, and changes in the meantime are sent first. */
const rowsPerLine = 50

/**
 * Sends changes until the client disconnects: the keys of changed sessions at once, and then their current rows; one line each. Changes of a session
 * while the client is slow are merged.
 */
export async function sendChanges(answer: ResponseWriter, source: SessionSource): Promise<void> {
  /** Keys that have not been sent, and keys whose rows have not been sent. */
  const [changed, rowsWanted] = [new Set<string>(), new Set<string>()]
  let isSending = false
  const send = async (): Promise<void> => {
    if (isSending) return
    isSending = true
    while (changed.size + rowsWanted.size > 0 && !answer.gone.aborted) {
      if (changed.size === 0)
        await answer.write(`${JSON.stringify(await rowsOf(takeFirst(rowsWanted, rowsPerLine), source))}\n`)
      else {
        const keys = takeFirst(changed, Infinity)
        for (const key of keys) rowsWanted.add(key)
        await answer.write(`${JSON.stringify({ keys })}\n`)
      }
    }
    isSending = false
  }
  // The client has disconnected, or a row cannot be read: in both cases the client reconnects and loads everything.
  const sendOrBreakOff = (): void => void send().catch(() => answer.breakOff())
  const stop = source.watch((keys) => {
    for (const key of keys) changed.add(key)
    sendOrBreakOff()
  })
  const beat = setInterval(() => {
    if (!isSending) answer.write('\n').catch(() => undefined)
  }, beatMs)
  try {
    if (!answer.gone.aborted) await once(answer.gone, 'abort')
  } finally {
    clearInterval(beat)
    stop()
  }
}

function takeFirst(from: Set<string>, most: number): readonly string[] {
  const keys = [...from].slice(0, most)
  for (const key of keys) from.delete(key)
  return keys
}

/** Current rows, and keys of removed sessions. */
async function rowsOf(
  keys: readonly string[],
  source: SessionSource,
): Promise<{ readonly rows: readonly SessionRow[]; readonly gone: readonly string[] }> {
  const rows: SessionRow[] = []
  const removed: string[] = []
  for (const key of keys) {
    const row = await source.row(key)
    if (row === undefined) removed.push(key)
    else rows.push(row)
  }
  return { rows, gone: removed }
}
