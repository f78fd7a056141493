import { constants } from 'node:fs'
import { mkdir, open, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { messageOf } from '@halting/core/adapters'

/** Something that a person said, in whatever session. */
interface HistoryEntry {
  readonly text: string
  /** Where it was said. */
  readonly cwd: string
  /** ISO 8601. */
  readonly at: string
}

/** What was said before, over sessions: a file of the person's own. */
export interface PromptHistory {
  /** The newest last; each text once. */
  readonly all: readonly HistoryEntry[]
  add(text: string): void
  /** What was added is on disk, or was told. */
  flush(): Promise<void>
}

interface HistoryOptions {
  /** The person's own folder. */
  readonly folder: string
  readonly cwd: string
  /** Takes secrets out of what is written. */
  readonly redact: (text: string) => string
  readonly now: () => Date
  /** Told once, when the file cannot be written. */
  readonly onProblem: (message: string) => void
}

/** Of a file that has grown larger, the end is read, and what is in it is written anew. */
const largestBytes = 4 * 1024 * 1024
const mostEntries = 2_000
/** What is longer is remembered until the program ends. */
const longestText = 100_000

/**
 * H1: the file is the person's alone (0600), and a line each; another process may add to it meanwhile.
 * H2: a line that cannot be read is passed over: nothing keeps the program from starting.
 * H3: what cannot be written is told once, and is remembered until the program ends.
 */
export async function openHistory(options: HistoryOptions): Promise<PromptHistory> {
  const path = join(options.folder, 'history.jsonl')
  const read = await readEnd(path)
  const all = withoutDuplicates(read.text.split('\n').flatMap(entryOf)).slice(-mostEntries)
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
    add(given) {
      const text = options.redact(given).trimEnd()
      if (text.trim() === '' || all.at(-1)?.text === text) return
      const entry = { text, cwd: options.cwd, at: options.now().toISOString() }
      const before = all.findIndex((one) => one.text === text)
      if (before >= 0) all.splice(before, 1)
      all.push(entry)
      if (text.length <= longestText) writing = writing.then(() => write(entry))
    },
    flush: () => writing,
  }
}

const { O_APPEND, O_CREAT, O_NONBLOCK, O_WRONLY } = constants

/** @throws where it cannot be written, and for what is no file: a pipe of that name would be waited for. */
async function append(path: string, line: string): Promise<void> {
  const file = await open(path, O_APPEND | O_CREAT | O_NONBLOCK | O_WRONLY, 0o600)
  try {
    if (!(await file.stat()).isFile()) throw new Error('it is not a file')
    await file.appendFile(line)
  } finally {
    await file.close()
  }
}

/** The end of the file, from the beginning of a line. */
async function readEnd(path: string): Promise<{ readonly text: string; readonly isCut: boolean }> {
  try {
    // A pipe of that name would be waited for.
    if (!(await stat(path)).isFile()) return { text: '', isCut: false }
    const file = await open(path, 'r')
    try {
      const info = await file.stat()
      // Made by another program, or brought from elsewhere. One that is not ours to close is read all the same.
      if ((info.mode & 0o077) !== 0) await file.chmod(0o600).catch(() => undefined)
      const from = Math.max(0, info.size - largestBytes)
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

/** Whole or not at all: what is there stays until the new one is. */
async function rewrite(path: string, all: readonly HistoryEntry[]): Promise<void> {
  const next = `${path}.${process.pid}.part`
  try {
    await writeFile(next, all.map((entry) => `${JSON.stringify(entry)}\n`).join(''), { mode: 0o600, flag: 'wx' })
    await rename(next, path)
  } catch {
    // It stays large, and is read from its end again.
    await rm(next, { force: true }).catch(() => undefined)
  }
}
