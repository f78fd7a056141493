import { stat } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import { storedSessions } from '@halting/journal'
import { ReadTogether, withoutSubagents } from '@halting/analysis/foreign'
import type { InspectedSession, Entry, Shelf } from '@halting/analysis/view'
import type { Flags } from '../flags/flags.ts'
import { filesEverywhere } from '../foreign/files-everywhere.ts'
import { foreignFolders } from '../foreign/find-foreign.ts'
import { readAnySession, type AnySession, type PricesFor, writerOf } from '@halting/analysis/sessions'
import { priceFlags, pricesFor } from '../foreign/session-prices.ts'
import { shellQuoted } from '../io/shell-quote.ts'
import type { Program } from '../program.ts'
import { findFiles } from '../stored-sessions/find-session.ts'
import { whose } from '@halting/agent/session-settings'
import { wayOn } from '../why/way-on.ts'
import { inspectedSession } from './inspected.ts'

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
  /** What another command has to be told to know the same prices. */
  readonly #priceFlags: readonly string[]
  readonly #together = new ReadTogether()
  readonly #keys = new Keys()

  /** @throws UsageError for names that name nothing. */
  static async open(flags: Flags, words: readonly string[], program: Program): Promise<FileShelf> {
    const shelf = new FileShelf(flags, words, program)
    await shelf.look()
    return shelf
  }

  private constructor(flags: Flags, words: readonly string[], program: Program) {
    const named = flags.all === true ? [] : [...words, ...foreignFolders(flags, program)]
    this.#program = program
    this.#prices = pricesFor(flags, program)
    this.#priceFlags = priceFlags(flags, program)
    this.title = titleOf(named, flags, program)
    this.#find = filesToShow(named, flags, program)
  }

  async look(): Promise<readonly FileEntry[]> {
    // More files of subagents may stand there by now.
    this.#together.forgetFolders()
    const paths = await withoutSubagents(await this.#find(), this.#together)
    this.#keys.keep(paths)
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
    const { path } = found
    const session = await readAnySession(path, this.#prices, this.#together)
    return inspectedSession(session, { found, shellArguments: this.#argumentsOf(session, path) })
  }

  async read(found: FileEntry): Promise<InspectedSession> {
    const { path, heldBy } = found
    const session = await readAnySession(path, this.#prices)
    const goesOn = heldBy === undefined && session.runs.length > 0
    const goOn = goesOn ? await wayOn(session, path, this.#program) : { says: '' }
    return inspectedSession(session, { found, goOn, heldBy, shellArguments: this.#argumentsOf(session, path) })
  }

  /** Ours have their prices on record. */
  #argumentsOf({ foreign }: AnySession, path: string): string {
    return shellQuoted([...(foreign === undefined ? [] : this.#priceFlags), resolve(this.#program.cwd, path)])
  }

  /** Undefined for one that is gone. */
  async #entryOf(path: string): Promise<FileEntry | undefined> {
    const [stats, heldBy] = await Promise.all([stat(path).catch(() => undefined), writerOf(path)])
    // Whoever opens a pipe waits for who writes it.
    if (stats?.isFile() !== true) return undefined
    const { size, mtimeMs, ctimeMs, ino } = stats
    return {
      key: this.#keys.of(path),
      sessionId: nameOf(path),
      path,
      changedAt: mtimeMs,
      isLive: heldBy !== undefined,
      heldBy,
      // Anybody can set the time of a change; when its state changed, rights too, the system says.
      signature: `${ino} ${size} ${mtimeMs} ${ctimeMs} ${heldBy ?? ''}`,
    }
  }
}

/** The names under which the page asks for files. */
class Keys {
  readonly #keys = new Map<string, string>()
  readonly #taken = new Set<string>()
  /** By name, the next number behind it that may be free: there may be a great many files of one name. */
  readonly #numbers = new Map<string, number>()

  /** The id of the session; where two files have one name, with a number. */
  of(path: string): string {
    const known = this.#keys.get(path)
    if (known !== undefined) return known
    const name = nameOf(path)
    let key = name
    for (let number = this.#numbers.get(name) ?? 2; this.#taken.has(key); number++) {
      key = `${name}~${number}`
      this.#numbers.set(name, number + 1)
    }
    this.#keys.set(path, key)
    this.#taken.add(key)
    return key
  }

  /** Forgets those of other files: they may come and go for as long as somebody looks. */
  keep(paths: readonly string[]): void {
    const kept = new Set(paths)
    for (const [path, key] of this.#keys) {
      if (kept.has(path)) continue
      this.#keys.delete(path)
      this.#taken.delete(key)
    }
  }
}

/** So many files are looked at at once: there may be more than a process may have open. */
const atOnce = 64

function nameOf(path: string): string {
  return basename(path, '.jsonl')
}

function filesToShow(named: readonly string[], flags: Flags, program: Program): () => Promise<readonly string[]> {
  if (flags.all === true) return () => filesEverywhere(flags, program)
  if (named.length > 0) return () => findFiles(named, program)
  return async () => (await storedSessions(whose(program), 'of this folder')).map(({ path }) => path)
}

function titleOf(named: readonly string[], { all, claudeCode, codex }: Flags, { cwd }: Program): string {
  if (all === true) {
    const programs = [claudeCode === true ? ['Claude Code'] : [], codex === true ? ['Codex'] : []].flat()
    return programs.length === 0 ? 'All sessions' : `All sessions, and those of ${programs.join(' and ')}`
  }
  if (named.length === 0) return `Sessions of ${cwd}`
  return named.map((name) => (/[/\\]/.test(name) ? resolve(cwd, name) : name)).join(', ')
}
