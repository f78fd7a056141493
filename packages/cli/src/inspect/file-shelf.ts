import { stat } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import { holderOf, keptSessions } from '@halting/agent'
import { ReadTogether, withoutSubagents } from '@halting/agent/foreign'
import type { InspectedSession } from '@halting/inspector'
import type { Flags } from '../flags/flags.ts'
import { foreignFolders } from '../foreign/find-foreign.ts'
import { pricesFor, readAnySession, type PricesFor } from '../foreign/read-session.ts'
import type { Program } from '../program.ts'
import { findFiles } from '../session/find-session.ts'
import { whose } from '../session/whose.ts'
import { wayOn } from '../why/way-on.ts'
import { inspectedSession } from './inspected.ts'
import type { Entry, Shelf } from './shelf.ts'

/** A session in a file. */
interface FileEntry extends Entry {
  readonly path: string
  /** The process that writes it. */
  readonly heldBy: number | undefined
}

/** The files of sessions that flags and words name; looked for anew at each look, since more may come. */
export class FileShelf implements Shelf<FileEntry> {
  readonly title: string
  readonly pauseMs = 700
  readonly #find: () => Promise<readonly string[]>
  readonly #program: Program
  readonly #prices: PricesFor
  readonly #together = new ReadTogether()
  readonly #copied = new CopiedLines(this.#together)
  readonly #keys = new Map<string, string>()
  readonly #taken = new Set<string>()

  /** @throws UsageError for names that name nothing. */
  static async open(flags: Flags, words: readonly string[], program: Program): Promise<FileShelf> {
    const shelf = new FileShelf(flags, words, program)
    await shelf.look()
    return shelf
  }

  private constructor(flags: Flags, words: readonly string[], program: Program) {
    const folders = foreignFolders(flags, program)
    const named = [...words, ...folders]
    this.#program = program
    this.#prices = pricesFor(flags, program)
    const which = flags.all === true ? 'all' : 'of this folder'
    this.title = titleOf(named, flags, program)
    this.#find =
      named.length === 0
        ? async () => (await keptSessions(whose(program), which)).map(({ path }) => path)
        : () => findFiles(named, program)
  }

  async look(): Promise<readonly FileEntry[]> {
    const paths = await withoutSubagents(await this.#find(), this.#together)
    const found: FileEntry[] = []
    for (let at = 0; at < paths.length; at += atOnce)
      for (const entry of await Promise.all(paths.slice(at, at + atOnce).map((path) => this.#entryOf(path))))
        if (entry !== undefined) found.push(entry)
    return found.toSorted((a, b) => (b.changedAt ?? 0) - (a.changedAt ?? 0))
  }

  lookAt({ path }: FileEntry): Promise<FileEntry | undefined> {
    return this.#entryOf(path)
  }

  async readForRow(found: FileEntry): Promise<InspectedSession> {
    const read = (together: ReadTogether): ReturnType<typeof readAnySession> =>
      readAnySession(found.path, this.#prices, together)
    return inspectedSession(await this.#copied.reading(found.path, read), { found })
  }

  async read(found: FileEntry): Promise<InspectedSession> {
    const { path, heldBy } = found
    const session = await readAnySession(path, this.#prices)
    const goesOn = heldBy === undefined && session.runs.length > 0
    const goOn = goesOn ? await wayOn(session, path, this.#program) : { says: '' }
    return inspectedSession(session, { found, goOn, heldBy })
  }

  /** Undefined for one that is gone. */
  async #entryOf(path: string): Promise<FileEntry | undefined> {
    const [stats, holder] = await Promise.all([stat(path).catch(() => undefined), holderOf(`${path}.lock`)])
    // Whoever opens a pipe waits for who writes it.
    if (stats?.isFile() !== true) return undefined
    const { size, mtimeMs, ino } = stats
    const heldBy = holder?.pid
    return {
      key: this.#keyOf(path),
      sessionId: nameOf(path),
      path,
      changedAt: mtimeMs,
      isLive: heldBy !== undefined,
      heldBy,
      signature: `${ino} ${size} ${mtimeMs} ${heldBy ?? ''}`,
    }
  }

  /** Its id; where two files have one name, with a number. */
  #keyOf(path: string): string {
    const known = this.#keys.get(path)
    if (known !== undefined) return known
    const name = nameOf(path)
    let key = name
    for (let number = 2; this.#taken.has(key); number++) key = `${name}~${number}`
    this.#keys.set(path, key)
    this.#taken.add(key)
    return key
  }
}

/** So many files are looked at at once: there may be more than a process may have open. */
const atOnce = 64

function nameOf(path: string): string {
  return basename(path, '.jsonl')
}

function titleOf(named: readonly string[], { all }: Flags, { cwd }: Program): string {
  if (named.length === 0) return all === true ? 'All sessions' : `Sessions of ${cwd}`
  return named.map((name) => (/[/\\]/.test(name) ? resolve(cwd, name) : name)).join(', ')
}

/** Lines of other programs that stand in several files count in the first that was read. Who is read again has its own back first. */
class CopiedLines {
  readonly #together: ReadTogether
  readonly #own = new Map<string, readonly string[]>()
  #before: Promise<unknown> = Promise.resolve()

  constructor(together: ReadTogether) {
    this.#together = together
  }

  /** One file after the other: whose a line is shows by who added it. */
  reading<Session>(path: string, read: (together: ReadTogether) => Promise<Session>): Promise<Session> {
    const reading = this.#before.then(async () => {
      const { lines } = this.#together
      for (const line of this.#own.get(path) ?? []) lines.delete(line)
      const before = lines.size
      try {
        return await read(this.#together)
      } finally {
        if (lines.size > before) this.#own.set(path, [...lines].slice(before))
      }
    })
    this.#before = reading.catch(() => undefined)
    return reading
  }
}
