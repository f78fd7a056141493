import { constants } from 'node:fs'
import { mkdir, open, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { messageOf } from '@halting/core/adapters'

/** A prompt of any session. */
interface HistoryEntry {
  readonly text: string
  /** The folder of its session. */
  readonly cwd: string
  /** Time in ISO 8601 format. */
  readonly at: string
}

/** Earlier prompts of all sessions, stored in a user file. */
export interface PromptHistory {
  /** All prompts, the newest last, without duplicates. */
  readonly all: readonly HistoryEntry[]
  add(text: string): void
  /** Resolves when added prompts are on disk, or the failure was reported. */
  flush(): Promise<void>
}

interface HistoryOptions {
  /** The user's folder for files of the program. */
  readonly folder: string
  readonly cwd: string
  /** Removes secrets before writing. */
  readonly redact: (text: string) => string
  readonly now: () => Date
  /** Called once, if the file cannot be written. */
  readonly onProblem: (message: string) => void
}

/** Maximum size of the file. Of a larger file, only the end is read, and the file is rewritten. */
const maxBytes = 4 * 1024 * 1024
const maxEntries = 2_000
/** Maximum length of a stored prompt. A longer one is remembered only until the program ends. */
const maxTextLength = 100_000

/**
 * H1: only the user can read the file (0600). It has one entry per line, and other processes may append to it.
 * H2: unreadable lines are skipped, so that the program always starts.
 * H3: a failed write is reported once, and entries are remembered until the program ends.
 */
export async function openHistory(options: HistoryOptions): Promise<PromptHistory> {
  const path = join(options.folder, 'history.jsonl')
  const read = await readEnd(path)
  const all = withoutDuplicates(read.text.split('\n').flatMap(entryOf)).slice(-maxEntries)
  if (read.isCut) await rewrite(path, all)
  let [writing, isReported] = [Promise.resolve(), false]
  const write = async (entry: HistoryEntry): Promise<void> => {
    try {
      await mkdir(dirname(path), { recursive: true, mode: 0o700 })
      await append(path, `${JSON.stringify(entry)}\n`)
    } catch (thrown) {
      if (isReported) return
      isReported = true
      options.onProblem(`Your prompts are not saved to the history: cannot write ${path} (${messageOf(thrown)}).`)
    }
  }
  return {
    all,
    add(prompt) {
      const text = options.redact(prompt).trimEnd()
      if (text.trim() === '' || all.at(-1)?.text === text) return
      const entry = { text, cwd: options.cwd, at: options.now().toISOString() }
      const before = all.findIndex((one) => one.text === text)
      if (before >= 0) all.splice(before, 1)
      all.push(entry)
      if (text.length <= maxTextLength) writing = writing.then(() => write(entry))
    },
    flush: () => writing,
  }
}

const { O_APPEND, O_CREAT, O_NONBLOCK, O_WRONLY } = constants

/** @throws if the file cannot be written, or is not a regular file: opening a pipe would block. */
async function append(path: string, line: string): Promise<void> {
  const file = await open(path, O_APPEND | O_CREAT | O_NONBLOCK | O_WRONLY, 0o600)
  try {
    if (!(await file.stat()).isFile()) throw new Error('it is not a file')
    await file.appendFile(line)
  } finally {
    await file.close()
  }
}

/** The end of the file, starting at a complete line. */
async function readEnd(path: string): Promise<{ readonly text: string; readonly isCut: boolean }> {
  try {
    // Opening a pipe would block.
    if (!(await stat(path)).isFile()) return { text: '', isCut: false }
    const file = await open(path, 'r')
    try {
      const info = await file.stat()
      // The file may have been copied here with other permissions. It is read even if its permissions cannot be changed.
      if ((info.mode & 0o077) !== 0) await file.chmod(0o600).catch(() => undefined)
      const from = Math.max(0, info.size - maxBytes)
      const { buffer, bytesRead } = await file.read(Buffer.alloc(info.size - from), 0, info.size - from, from)
      const text = buffer.toString('utf8', 0, bytesRead)
      return { text: from === 0 ? text : text.slice(text.indexOf('\n') + 1), isCut: from > 0 }
    } finally {
      await file.close()
    }
  } catch {
    return { text: '', isCut: false }
  }
}

function entryOf(line: string): readonly HistoryEntry[] {
  try {
    const { text, cwd, at } = JSON.parse(line) as Partial<Record<keyof HistoryEntry, unknown>>
    if (typeof text !== 'string' || text === '') return []
    return [{ text, cwd: typeof cwd === 'string' ? cwd : '', at: typeof at === 'string' ? at : '' }]
  } catch {
    return []
  }
}

function withoutDuplicates(entries: readonly HistoryEntry[]): HistoryEntry[] {
  const newest = new Map<string, HistoryEntry>()
  for (const entry of entries) {
    newest.delete(entry.text)
    newest.set(entry.text, entry)
  }
  return [...newest.values()]
}

/** Replaces the file atomically. */
async function rewrite(path: string, all: readonly HistoryEntry[]): Promise<void> {
  const next = `${path}.${process.pid}.part`
  try {
    await writeFile(next, all.map((entry) => `${JSON.stringify(entry)}\n`).join(''), { mode: 0o600, flag: 'wx' })
    await rename(next, path)
  } catch {
    // The file stays large, and its end is read again next time.
    await rm(next, { force: true }).catch(() => undefined)
  }
}
