import { setTimeout as wait } from 'node:timers/promises'
import { HaltingError } from '@halting/core'
import { messageOf } from '@halting/core/adapters'
import { unreadRow } from './row.ts'
import { pageParts } from './parts.ts'
import type { Part } from './session-transcript.ts'
import { readView } from './view.ts'
import type { InspectedSession } from './inspected-session.ts'
import type { SessionRow, SessionView, TranscriptPart } from './types.ts'
import type { SessionSource } from './session-source.ts'
import type { Entry, SessionCatalog } from './session-catalog.ts'

/** The number of sessions that stay loaded: the one on screen and those that it is compared with. */
const maxOpen = 3

/** A session that was read, completely or its beginning. */
interface Opened {
  readonly session: InspectedSession
  readonly view: SessionView
  /** Parts of the transcript, by run. */
  readonly parts: readonly (readonly Part[])[]
}

/** A session that is being read completely, or was. */
interface Opening {
  readonly signature: string
  readonly opened: Promise<Opened>
  /** Whether reading has finished. */
  isReady: boolean
}

interface CachedRow {
  readonly signature: string
  readonly row: Promise<SessionRow>
}

/** A session source over a catalog. */
export interface CatalogSessionSource extends SessionSource {
  /** The key of the only session; undefined when there are none, or several. */
  onlyKey(): Promise<string | undefined>
}

/** Serves the inspector with sessions of a catalog. A session is not read twice unless it changes. */
export class CatalogSource<Found extends Entry> implements CatalogSessionSource {
  readonly #catalog: SessionCatalog<Found>
  readonly #isForPerson: (error: unknown) => boolean
  readonly #rows = new Map<string, CachedRow>()
  readonly #opened = new Map<string, Opening>()
  /** Beginnings of long sessions, until these are read completely. */
  readonly #beginnings = new Map<string, { readonly signature: string; readonly opened: Promise<Opened | undefined> }>()
  /** The entries of the last scan. */
  readonly #known = new Map<string, Found>()
  readonly #listeners = new Set<(keys: readonly string[]) => void>()
  #hasScanned = false
  #watching: AbortController | undefined

  /** `isForPerson` returns whether the message of a catalog's error is meant for people. */
  constructor(catalog: SessionCatalog<Found>, isForPerson: (error: unknown) => boolean = () => false) {
    this.#catalog = catalog
    this.#isForPerson = isForPerson
  }

  get title(): string {
    return this.#catalog.title
  }

  async onlyKey(): Promise<string | undefined> {
    const [first, second] = await this.#scan()
    return second === undefined ? first?.key : undefined
  }

  async *list(signal: AbortSignal): AsyncGenerator<SessionRow> {
    try {
      for (const found of await this.#withReadableError(this.#scan())) {
        if (signal.aborted) return
        const row = await this.#rowOf(found)
        yield row
      }
    } finally {
      this.#catalog.rowsAreRead?.()
    }
  }

  get remaining(): number {
    return this.#catalog.remaining ?? 0
  }

  async more(): Promise<void> {
    await this.#withReadableError(this.#catalog.more?.() ?? Promise.resolve())
    await this.#withReadableError(this.#scan())
  }

  async row(key: string): Promise<SessionRow | undefined> {
    // The rows of the last scan: the next scan reports what changed since then.
    const known = this.#known.get(key)
    return known === undefined ? undefined : this.#rowOf(known)
  }

  async session(key: string, asked: 'whole' | 'beginning' = 'whole'): Promise<SessionView | undefined> {
    const found = await this.#find(key)
    if (found === undefined) return undefined
    if (asked === 'beginning') {
      const begun = await this.#beginningOf(found)
      if (begun !== undefined) return begun.view
    }
    return (await this.#open(found)).view
  }

  async records(key: string, run: number, from: number, count: number): Promise<readonly unknown[]> {
    const opened = await this.#openedOf(key, (view) => (view.runs[run]?.records ?? 0) >= from + count)
    const records = opened?.session.runs[run]?.slice(from, from + count) ?? []
    return opened?.session.withTexts?.(records) ?? records
  }

  async parts(key: string, run: number, from: number, count: number): Promise<readonly TranscriptPart[]> {
    const opened = await this.#openedOf(key, (view) => (view.runs[run]?.parts ?? 0) >= from + count)
    const piece = pageParts(opened?.parts[run]?.slice(from, from + count) ?? [])
    return opened?.session.withTexts?.(piece) ?? piece
  }

  watch(onChange: (keys: readonly string[]) => void): () => void {
    this.#listeners.add(onChange)
    if (this.#watching === undefined) {
      this.#watching = new AbortController()
      void this.#watch(this.#watching.signal)
    }
    return () => {
      this.#listeners.delete(onChange)
      if (this.#listeners.size > 0) return
      this.#watching?.abort()
      this.#watching = undefined
    }
  }

  async #watch(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const begun = performance.now()
      // A scan that fails may succeed the next time; direct requests report the error.
      await this.#scan().catch(() => undefined)
      // After a slow scan, pause longer to limit the load.
      const pause = Math.max(this.#catalog.pauseMs, 10 * (performance.now() - begun))
      await wait(pause, undefined, { signal, ref: false }).catch(() => undefined)
    }
  }

  /** Scans the catalog, and reports changes since the last scan. */
  async #scan(): Promise<readonly Found[]> {
    const all = await this.#catalog.list()
    const isFirst = !this.#hasScanned
    this.#hasScanned = true
    const changed = all.filter((found) => this.#known.get(found.key)?.signature !== found.signature)
    const present = new Set(all.map(({ key }) => key))
    const removed = [...this.#known.keys()].filter((key) => !present.has(key))
    for (const found of changed) this.#known.set(found.key, found)
    for (const key of removed) this.#forget(key)
    if (!isFirst) this.#notify([...changed.map(({ key }) => key), ...removed])
    return all
  }

  #notify(keys: readonly string[]): void {
    if (keys.length > 0) for (const listener of this.#listeners) listener(keys)
  }

  #forget(key: string): void {
    this.#known.delete(key)
    this.#rows.delete(key)
    this.#opened.delete(key)
    this.#beginnings.delete(key)
  }

  async #find(key: string): Promise<Found | undefined> {
    const known = this.#known.get(key)
    const found = known === undefined ? undefined : await this.#withReadableError(this.#catalog.refreshed(known))
    if (found !== undefined) return found
    if (this.#catalog.find !== undefined) return this.#withReadableError(this.#catalog.find(key))
    return (await this.#withReadableError(this.#scan())).find((each) => each.key === key)
  }

  /** Uses the row of the session if it was read completely and has no copied runs, which do not count in a list. */
  async #readRow(found: Found): Promise<SessionRow> {
    const opening = found.path === null ? undefined : this.#opened.get(found.key)
    const opened = opening?.signature === found.signature ? await opening.opened.catch(() => undefined) : undefined
    return opened?.view.row.copiedRuns === 0 ? opened.view.row : this.#catalog.rowOf(found)
  }

  async #rowOf(found: Found): Promise<SessionRow> {
    const cached = this.#rows.get(found.key)
    if (cached?.signature === found.signature) return cached.row
    const row = this.#withReadableError(this.#readRow(found)).catch((error: unknown) => {
      if (isSystemError(error)) this.#rows.delete(found.key)
      return unreadRow({ ...found, program: 'halting' }, problemOf(error))
    })
    this.#rows.set(found.key, { signature: found.signature, row })
    return row
  }

  /** The session as the page has it, even if it has changed since. Its beginning is used if that contains what is requested. */
  async #openedOf(key: string, isEnough: (beginning: SessionView) => boolean): Promise<Opened | undefined> {
    const opening = this.#opened.get(key)
    if (opening?.isReady === true) return opening.opened
    const begun = await this.#beginnings.get(key)?.opened
    if (begun !== undefined && isEnough(begun.view)) return begun
    if (opening !== undefined) return opening.opened
    const found = await this.#find(key)
    return found === undefined ? undefined : this.#open(found)
  }

  /** The beginning of a session; undefined for one that is short, or has been read completely. */
  #beginningOf(found: Found): Promise<Opened | undefined> {
    const { key, signature } = found
    if (this.#opened.get(key)?.isReady === true) return Promise.resolve(undefined)
    const known = this.#beginnings.get(key)
    if (known?.signature === signature) return known.opened
    // If this fails, reading the whole session reports the error.
    const opened = this.#readBeginning(found).catch(() => undefined)
    cacheAsNewest(this.#beginnings, key, { signature, opened })
    return opened
  }

  async #readBeginning(found: Found): Promise<Opened | undefined> {
    const begun = await this.#catalog.readBeginning?.(found)
    if (begun === undefined) return undefined
    const { session, sums } = begun
    const { view, parts } = readView(session)
    return { session, parts, view: { ...view, row: { ...view.row, ...sums }, isBeginning: true } }
  }

  #open(found: Found): Promise<Opened> {
    const { key, signature } = found
    const before = this.#opened.get(key)
    if (before?.signature === signature) return before.opened
    const opened = this.#withReadableError(this.#catalog.read(found)).then((session) => ({
      session,
      ...readView(session),
    }))
    const opening: Opening = { signature, opened, isReady: false }
    cacheAsNewest(this.#opened, key, opening)
    opened.then(
      () => {
        opening.isReady = true
        this.#beginnings.delete(key)
      },
      () => {
        if (this.#opened.get(key) === opening) this.#opened.delete(key)
      },
    )
    return opened
  }

  /** Converts errors that are meant for people to HaltingErrors, whose message the page shows. */
  async #withReadableError<Value>(answer: Promise<Value>): Promise<Value> {
    try {
      return await answer
    } catch (error) {
      throw this.#isForPerson(error) ? new HaltingError('driver', messageOf(error), { cause: error }) : error
    }
  }
}

/** Moves an entry to the end, and removes the oldest above the maximum. */
function cacheAsNewest<Value>(cache: Map<string, Value>, key: string, value: Value): void {
  cache.delete(key)
  cache.set(key, value)
  for (const old of cache.keys()) if (cache.size > maxOpen) cache.delete(old)
}

/** An operating system error may not occur the next time. */
function isSystemError(error: unknown): boolean {
  return error instanceof Error && error.cause instanceof Error && 'code' in error.cause
}

/** The message for a session that cannot be read, or whose content makes the reader fail. */
function problemOf(error: unknown): string {
  return error instanceof HaltingError ? error.message : `It cannot be shown: ${messageOf(error)}.`
}
