import { once } from 'node:events'
import type { SessionRow, SessionSource } from '@halting/analysis/view'
import type { Answer } from './answer.ts'

/** So often a reader of changes hears something, so that both sides notice when the other is gone. */
const beatMs = 15_000

/** So many rows are told together. To read them may take long: what changes meanwhile is told before the others. */
const rowsTogether = 50

/**
 * Tells of changes until the reader goes: which sessions changed, at once, and then their rows as they are now; a line each. What changes while the reader is
 * slow is told once.
 */
export async function tellChanges(answer: Answer, source: SessionSource): Promise<void> {
  /** Keys that nobody was told of, and those whose rows nobody was told. */
  const [changed, rowsWanted] = [new Set<string>(), new Set<string>()]
  let isTelling = false
  const tell = async (): Promise<void> => {
    if (isTelling) return
    isTelling = true
    while (changed.size + rowsWanted.size > 0 && !answer.gone.aborted) {
      if (changed.size === 0)
        await answer.write(`${JSON.stringify(await rowsOf(taken(rowsWanted, rowsTogether), source))}\n`)
      else {
        const keys = taken(changed, Infinity)
        for (const key of keys) rowsWanted.add(key)
        await answer.write(`${JSON.stringify({ keys })}\n`)
      }
    }
    isTelling = false
  }
  // Its reader is gone, or a row cannot be told: then it asks anew, and for all of them.
  const tellOrBreakOff = (): void => void tell().catch(() => answer.breakOff())
  const stop = source.watch((keys) => {
    for (const key of keys) changed.add(key)
    tellOrBreakOff()
  })
  const beat = setInterval(() => {
    if (!isTelling) answer.write('\n').catch(() => undefined)
  }, beatMs)
  try {
    if (!answer.gone.aborted) await once(answer.gone, 'abort')
  } finally {
    clearInterval(beat)
    stop()
  }
}

function taken(from: Set<string>, most: number): readonly string[] {
  const keys = [...from].slice(0, most)
  for (const key of keys) from.delete(key)
  return keys
}

/** Rows as they are now, and the keys of what is there no more. */
async function rowsOf(
  keys: readonly string[],
  source: SessionSource,
): Promise<{ readonly rows: readonly SessionRow[]; readonly gone: readonly string[] }> {
  const rows: SessionRow[] = []
  const gone: string[] = []
  for (const key of keys) {
    const row = await source.row(key)
    if (row === undefined) gone.push(key)
    else rows.push(row)
  }
  return { rows, gone }
}
