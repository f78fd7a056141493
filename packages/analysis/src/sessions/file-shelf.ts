import { setImmediate as pause } from 'node:timers/promises'
import { basename } from 'node:path'
import { endings } from '@halting/core'
import { isEndingReason } from '@halting/core/adapters'
import { endsOfKept, fileState, regularFileStats, type SessionIndex } from '@halting/journal'
import { createKeyRedactor } from '@halting/models'
import { withoutSubagents } from '../foreign/agent-files.ts'
import { ReadTogether } from '../foreign/read-together.ts'
import type { GradingSources } from '../grades/graded-runs.ts'
import type { InspectedSession } from '../view/inspected-session.ts'
import { rowOf } from '../view/row.ts'
import type { Beginning, Entry, Shelf } from '../view/shelf.ts'
import type { SessionRow } from '../view/types.ts'
import type { NextStep } from '../why/next-step.ts'
import { inspectedSession, type InspectedDetails } from './inspect-session.ts'
import { isRowFacts, isShort, readRowFacts, redactedFacts, rowOfFacts, type RowFacts } from './row-facts.ts'
import { readAnySession, readSessionBeginning, type AnySession, type PricesFor } from './read-session.ts'
import { writerOf } from './writer-of.ts'

/** Which files a shelf shows, and the words of the program for them. */
export interface FileShelfOptions {
  /** Title of the page. */
  readonly title: string
  /** Paths of the files; asked at each look, since more may come. */
  readonly find: () => Promise<readonly string[]>
  /** Prices, by the program that recorded a session. */
  readonly prices: PricesFor
  /** What names a session to other commands, as a shell takes it. */
  readonly shellArguments: (session: AnySession, path: string) => string
  /** How the newest run of a session can continue that no process writes. */
  readonly nextStep: (session: AnySession, path: string) => Promise<NextStep>
  /** Grades of the person, and repositories of folders; asked each time that a session is read. */
  readonly grading?: () => GradingSources
  /** What earlier lists made of these files. Default: all of them are read. */
  readonly index?: SessionIndex
  /** The words for why a run ended. */
  readonly whyText: InspectedDetails['whyText']
}

/** A session in a file. */
interface FileEntry extends Entry {
  readonly path: string
  /** In bytes. */
  readonly size: number
  /** Another one when the file is another one, or was changed. */
  readonly state: string
  /** The process that writes it. */
  readonly heldBy: number | undefined
}

/** Sessions in files, looked for anew at each look. */
export class FileShelf implements Shelf<FileEntry> {
  /** Title of the page. */
  readonly title: string
  readonly pauseMs = 700
  readonly #options: FileShelfOptions
  readonly #together = new ReadTogether()
  readonly #keys = new Keys()
  #redact: ((text: string) => string) | undefined

  constructor(options: FileShelfOptions) {
    this.title = options.title
    this.#options = options
  }

  async look(): Promise<readonly FileEntry[]> {
    // More files of subagents may stand there by now.
    this.#together.forgetFolders()
    const paths = await withoutSubagents(await this.#options.find(), this.#together)
    this.#keys.keep(paths)
    const found: FileEntry[] = []
    for (const [index, path] of paths.entries()) {
      const entry = this.#entryOf(path)
      if (entry !== undefined) found.push(entry)
      // Who asks for something else is answered in between.
      if (index % atOnce === atOnce - 1) await pause()
    }
    return found.toSorted((a, b) => (b.changedAt ?? 0) - (a.changedAt ?? 0))
  }

  lookAt({ path }: FileEntry): Promise<FileEntry | undefined> {
    return Promise.resolve(this.#entryOf(path))
  }

  async rowOf(found: FileEntry): Promise<SessionRow> {
    const { path } = found
    const { prices, shellArguments, whyText } = this.#options
    const facts = await this.#factsOf(found)
    if (facts !== undefined) return rowOfFacts(facts, { found, together: this.#together, prices })
    const session = await readAnySession(path, prices, this.#together)
    return rowOf(inspectedSession(session, { found, shellArguments: shellArguments(session, path), whyText }))
  }

  /** Undefined for a session of another program: what counts in it depends on other files. */
  async #factsOf({ path, state, heldBy }: FileEntry): Promise<RowFacts | undefined> {
    const { index } = this.#options
    const redact = (this.#redact ??= createKeyRedactor(process.env))
    const known = index?.get(path, state, 'row')
    // Other keys may be in use than when it was noted.
    if (isRowFacts(known)) return redactedFacts(known, redact)
    const facts = await readRowFacts(path, redact)
    if (facts !== undefined && heldBy === undefined && isShort(facts)) index?.note(path, state, 'row', facts)
    return facts
  }

  rowsAreRead(): void {
    this.#options.index?.save()
  }

  async read(found: FileEntry): Promise<InspectedSession> {
    return this.#inspected(await readAnySession(found.path, this.#options.prices), found)
  }

  // Spec R-LIST-9a.
  async readBeginning(found: FileEntry): Promise<Beginning | undefined> {
    if (found.size < longBytes) return undefined
    // Without the sums it is not known which run is the newest.
    const ends = endsOfKept(found.path)
    if (ends === undefined) return undefined
    const session = await readSessionBeginning(found.path, beginningBytes, this.#options.prices)
    if (session === undefined || (session.runs[0]?.length ?? 0) === 0) return undefined
    const { runs, turns } = ends.sums
    const ending = isEndingReason(ends.ended) ? ends.ended : null
    return {
      session: await this.#inspected(session, found),
      sums: { runs, turns, ending, exitCode: ending === null ? null : endings[ending].exitCode },
    }
  }

  async #inspected(session: AnySession, found: FileEntry): Promise<InspectedSession> {
    const { path, heldBy } = found
    const { shellArguments, whyText } = this.#options
    const canContinue = heldBy === undefined && session.runs.length > 0
    const nextStep = canContinue ? await this.#options.nextStep(session, path) : { says: '' }
    const named = shellArguments(session, path)
    const grading = this.#options.grading?.()
    const details = { found, nextStep, heldBy, shellArguments: named, whyText, isRedacted: true }
    return inspectedSession(session, { ...details, ...(grading !== undefined && { grading }) })
  }

  /** Undefined for one that is gone. */
  #entryOf(path: string): FileEntry | undefined {
    const stats = regularFileStats(path)
    if (stats === undefined) return undefined
    const heldBy = writerOf(path)
    const state = fileState(stats)
    return {
      key: this.#keys.of(path),
      sessionId: nameOf(path),
      path,
      changedAt: stats.mtimeMs,
      isLive: heldBy !== undefined,
      size: stats.size,
      heldBy,
      state,
      signature: `${state} ${heldBy ?? ''}`,
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

/** So many files are looked at without a pause. */
const atOnce = 256

/** Files that are shorter are read as a whole at once. */
const longBytes = 4_000_000
/** What the first screen shows, and more. */
const beginningBytes = 400_000

function nameOf(path: string): string {
  return basename(path, '.jsonl')
}
