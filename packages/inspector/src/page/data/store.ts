import { batch, computed, effect, signal, type ReadonlySignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { SessionRow } from '@halting/analysis/view'
import type { SessionOutline } from '../../server/figures.ts'
import type { PageSource } from './page-source.ts'
import { route } from './route.ts'

/** Something that is loaded from the source. A loaded value stays visible while it is loaded again. */
export type Loaded<Value> =
  | { readonly kind: 'loading' }
  | { readonly kind: 'loaded'; readonly value: Value }
  | { readonly kind: 'failed'; readonly message: string }

let opened: PageSource | undefined
const shownRows = signal<readonly SessionRow[]>([])
const listState = signal<Loaded<null>>({ kind: 'loading' })
const pageTitle = signal('')
const unlistedCountState = signal(0)

/** Sessions in the order in which they were first read, with their latest figures. */
export const rows: ReadonlySignal<readonly SessionRow[]> = shownRows
/** Whether all sessions have been read. */
export const listingState: ReadonlySignal<Loaded<null>> = listState
/** Number of sessions that are not listed yet. */
export const unlistedCount: ReadonlySignal<number> = unlistedCountState

/**
 * Lists more sessions.
 * @throws Error with the message of the server.
 */
export async function listMore(): Promise<void> {
  unlistedCountState.value = await source().more()
}

/** What the page is about: a folder, an address or a file. */
export const title: ReadonlySignal<string> = pageTitle

/**
 * The data source.
 * @throws Error before the page was opened.
 */
export function source(): PageSource {
  if (opened === undefined) throw new Error('The page has no data source yet.')
  return opened
}

/** Sets the data source, and follows its changes. */
export function openStore(from: PageSource): void {
  opened = from
  pageTitle.value = from.title
  const reading = new Reading(from)
  const isListWanted = computed(() => from.isExported || !/^session$|^compare/.test(route.value.view))
  effect(() => {
    if (isListWanted.value && !reading.hasBegun) reading.begin()
  })
  from.onChange((change) => {
    switch (change.kind) {
      case 'changed':
        for (const key of change.keys) openSessions.get(key)?.readAgain()
        return
      case 'rows':
        reading.change(change.rows, change.gone)
        return
      case 'missed':
        if (reading.hasBegun) reading.begin()
        for (const resource of openSessions.values()) resource.readAgain()
    }
  })
}

/** Reads the list and follows its changes. Requests during a read cause one more read afterwards. */
class Reading {
  private readonly from: PageSource
  private readonly list = new RowList()
  /** A page that shows only one session does not need the list. */
  hasBegun = false
  private isReading = false
  private isWanted = false
  private drawing: ReturnType<typeof setTimeout> | undefined

  constructor(from: PageSource) {
    this.from = from
  }

  begin(): void {
    this.hasBegun = true
    this.isWanted = true
    if (!this.isReading) void this.read()
  }

  change(rows: readonly SessionRow[], gone: readonly string[]): void {
    this.list.change(rows, gone)
    this.drawSoon()
  }

  private async read(): Promise<void> {
    this.isReading = true
    while (this.isWanted) {
      this.isWanted = false
      try {
        this.list.begin()
        const beyond = await this.from.list((more) => {
          this.list.take(more)
          this.drawSoon()
        }, new AbortController().signal)
        this.list.end()
        batch(() => {
          this.draw()
          unlistedCountState.value = beyond
          listState.value = { kind: 'loaded', value: null }
        })
      } catch (error) {
        this.list.giveUp()
        listState.value = { kind: 'failed', message: messageOf(error) }
      }
      if (this.isWanted) await new Promise((resolve) => setTimeout(resolve, 500))
    }
    this.isReading = false
  }

  /** Rows arrive by the hundred: the page is updated a few times per second. */
  private drawSoon(): void {
    this.drawing ??= setTimeout(() => this.draw(), 150)
  }

  private draw(): void {
    clearTimeout(this.drawing)
    this.drawing = undefined
    shownRows.value = this.list.all
  }
}

/** A session that is shown: loaded on first use, and again when it changes. */
class SessionResource {
  readonly state = signal<Loaded<SessionOutline>>({ kind: 'loading' })
  /** Number of components that show it. */
  users = 0
  private readonly key: string
  private isReading = false
  private isWanted = false

  constructor(key: string) {
    this.key = key
    this.readAgain()
  }

  readAgain(): void {
    this.isWanted = true
    if (!this.isReading) void this.read()
  }

  private async read(): Promise<void> {
    this.isReading = true
    while (this.isWanted) {
      this.isWanted = false
      const begun = performance.now()
      try {
        const isFirst = this.state.peek().kind !== 'loaded'
        const value = await source().session(this.key, isFirst ? 'beginning' : undefined)
        this.state.value = { kind: 'loaded', value }
        if (value.isBeginning) this.isWanted = true
      } catch (error) {
        this.state.value = { kind: 'failed', message: messageOf(error) }
      }
      // A long session that changes all the time is read at most half of the time.
      const pause = Math.max(300, performance.now() - begun)
      if (this.isWanted) await new Promise((resolve) => setTimeout(resolve, pause))
    }
    this.isReading = false
  }
}

const openSessions = new Map<string, SessionResource>()
const maxCached = 4

/** A session as a hook; the component is rendered again when it changes. */
export function useSession(key: string): Loaded<SessionOutline> {
  const resource = openSessions.get(key) ?? new SessionResource(key)
  openSessions.set(key, resource)
  useEffect(() => {
    resource.users++
    return () => {
      resource.users--
      // The last few sessions stay loaded, for going back.
      for (const [old, { users }] of openSessions)
        if (openSessions.size > maxCached && users === 0) openSessions.delete(old)
    }
  }, [resource])
  return resource.state.value
}

/** The message of an error. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/**
 * The rows of the list, in the order of arrival. Reading the whole list takes a while. Changes that are reported meanwhile are newer than rows that
 * are read later.
 */
export class RowList {
  readonly #rows = new Map<string, SessionRow>()
  /** During a read: the keys that were read, and those with a reported change. */
  #reading: { readonly read: Set<string>; readonly changed: Set<string> } | undefined

  get all(): readonly SessionRow[] {
    return [...this.#rows.values()]
  }

  /** Starts to read the list. */
  begin(): void {
    this.#reading = { read: new Set(), changed: new Set() }
  }

  /** Adds rows that were read. */
  take(rows: readonly SessionRow[]): void {
    for (const row of rows) {
      this.#reading?.read.add(row.key)
      if (this.#reading?.changed.has(row.key) !== true) this.#rows.set(row.key, row)
    }
  }

  /** Ends reading, and removes sessions that were not read. */
  end(): void {
    const reading = this.#reading
    this.#reading = undefined
    if (reading === undefined) return
    for (const key of this.#rows.keys()) if (!reading.read.has(key) && !reading.changed.has(key)) this.#rows.delete(key)
  }

  /** Aborts reading. */
  giveUp(): void {
    this.#reading = undefined
  }

  change(rows: readonly SessionRow[], gone: readonly string[]): void {
    for (const row of rows) {
      this.#reading?.changed.add(row.key)
      this.#rows.set(row.key, row)
    }
    for (const key of gone) {
      this.#reading?.changed.add(key)
      this.#rows.delete(key)
    }
  }
}
