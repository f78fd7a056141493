import { setImmediate as pause } from 'node:timers/promises'
import { basename } from 'node:path'
import { endings } from '@halting/core'
import { isEndingReason } from '@halting/core/adapters'
import { readSessionEnds, fileState, regularFileStats, type SessionIndex } from '@halting/journal'
import { createKeyRedactor } from '@halting/models'
import { withoutSubagents } from '../foreign/agent-files.ts'
import { ReadTogether } from '../foreign/read-together.ts'
import type { GradingSources } from '../grades/graded-runs.ts'
import type { InspectedSession } from '../view/inspected-session.ts'
import { rowOf } from '../view/row.ts'
import type { Beginning, Entry, SessionCatalog } from '../view/session-catalog.ts'
import type { SessionRow } from '../view/types.ts'
import type { NextStep } from '../why/next-step.ts'
import { inspectedSession, type InspectedDetails } from './inspect-session.ts'
import { isRowFacts, isShort, readRowFacts, redactedFacts, rowOfFacts, type RowFacts } from './row-facts.ts'
import { readAnySession, readSessionBeginning, type AnySession, type PricesFor } from './read-session.ts'
import { writerOf } from './writer-of.ts'

/** The files of a catalog, and texts of the program about them. */
export interface FileCatalogOptions {
  /** Title of the page. */
  readonly title: string
  /** Lists the paths of the files; called for each scan, because files may be added. */
  readonly find: () => Promise<readonly string[]>
  /** Prices, by the program that recorded a session. */
  readonly prices: PricesFor
  /** Arguments that identify a session to other commands, quoted for a shell. */
  readonly shellArguments: (session: AnySession, path: string) => string
  /** How the last run of a session can be continued; called when no process writes to it. */
  readonly nextStep: (session: AnySession, path: string) => Promise<NextStep>
  /** Grades by people, and repositories of folders; called each time a session is read. */
  readonly grading?: () => GradingSources
  /** Stored rows of earlier lists. Default: all files are read. */
  readonly index?: SessionIndex
  /** Explains why a run ended, in text. */
  readonly whyText: InspectedDetails['whyText']
}

/** A session in a file. */
interface FileEntry extends Entry {
  readonly path: string
  /** In bytes. */
  readonly size: number
  /** Changes when the file is replaced or modified. */
  readonly state: string
  /** Id of the process that is writing to it. */
  readonly heldBy: number | undefined
}

/** Sessions in files, listed anew for each scan. */
export class FileCatalog implements SessionCatalog<FileEntry> {
  /** Title of the page. */
  readonly title: string
  readonly pauseMs = 700
  readonly #options: FileCatalogOptions
  readonly #together = new ReadTogether()
  readonly #keys = new Keys()
  #redact: ((text: string) => string) | undefined

  constructor(options: FileCatalogOptions) {
    this.title = options.title
    this.#options = options
  }

  async list(): Promise<readonly FileEntry[]> {
    // Files of subagents may have been added.
    this.#together.forgetFolders()
    const paths = await withoutSubagents(await this.#options.find(), this.#together)
    this.#keys.retainOnly(paths)
    const found: FileEntry[] = []
    for (const [index, path] of paths.entries()) {
      const entry = this.#entryOf(path)
      if (entry !== undefined) found.push(entry)
      // Lets other requests be answered in between.
      if (index % filesPerBatch === filesPerBatch - 1) await pause()
    }
    return found.toSorted((a, b) => (b.changedAt ?? 0) - (a.changedAt ?? 0))
  }

  refreshed({ path }: FileEntry): Promise<FileEntry | undefined> {
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

  /** Undefined for a session of another program, whose figures depend on other files. */
  async #factsOf({ path, state, heldBy }: FileEntry): Promise<RowFacts | undefined> {
    const { index } = this.#options
    const redact = (this.#redact ??= createKeyRedactor(process.env))
    const known = index?.get(path, state, 'row')
    // The API keys in use may have changed since the row was stored.
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
    if (found.size < longFileBytes) return undefined
    // Without stored sums, it is unknown which run is the last one.
    const ends = readSessionEnds(found.path)
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
    const args = shellArguments(session, path)
    const grading = this.#options.grading?.()
    const details = { found, nextStep, heldBy, shellArguments: args, whyText, isRedacted: true }
    return inspectedSession(session, { ...details, ...(grading !== undefined && { grading }) })
  }

  /** Undefined for a file that was removed. */
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

/** The names of files in requests of the page. */
class Keys {
  readonly #keys = new Map<string, string>()
  readonly #taken = new Set<string>()
  /** The next number to try for each name: many files may have the same name. */
  readonly #numbers = new Map<string, number>()

  /** The id of the session, with a number when several files have the same name. */
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

  /** Removes the keys of other files, because files may come and go while the page is open. */
  retainOnly(paths: readonly string[]): void {
    const remaining = new Set(paths)
    for (const [path, key] of this.#keys) {
      if (remaining.has(path)) continue
      this.#keys.delete(path)
      this.#taken.delete(key)
    }
  }
}

/** The number of files that are examined without a pause. */
const filesPerBatch = 256

/** Shorter files are read completely at once. */
const longFileBytes = 4_000_000
/** More than the first screen shows. */
const beginningBytes = 400_000

function nameOf(path: string): string {
  return basename(path, '.jsonl')
}
