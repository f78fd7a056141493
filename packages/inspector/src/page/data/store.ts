import { batch, computed, effect, signal, type ReadonlySignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { SessionRow } from '@halting/analysis/view'
import type { SessionOutline } from '../../server/figures.ts'
import type { PageSource } from './page-source.ts'
import { route } from './route.ts'

/** What is being read, was read, or could not be. What was read before stays shown while it is read anew. */
export type Loaded<Value> =
  | { readonly kind: 'loading' }
  | { readonly kind: 'loaded'; readonly value: Value }
  | { readonly kind: 'failed'; readonly message: string }

let opened: PageSource | undefined
const shownRows = signal<readonly SessionRow[]>([])
const listState = signal<Loaded<null>>({ kind: 'loading' })
const pageTitle = signal('')
const beyondState = signal(0)

/** Sessions in the order in which they were read first; each by its newest figures. */
export const rows: ReadonlySignal<readonly SessionRow[]> = shownRows
/** Whether all sessions have been read. */
export const listing: ReadonlySignal<Loaded<null>> = listState
/** How many sessions there are that the list does not have yet. */
export const beyond: ReadonlySignal<number> = beyondState

/** Lists more of them. @throws Error with what the server says. */
export async function listMore(): Promise<void> {
  beyondState.value = await source().more()
}

/** What is looked at: a folder, an address, a file. */
export const title: ReadonlySignal<string> = pageTitle

/** Where everything comes from. @throws Error before the page was opened. */
export function source(): PageSource {
  if (opened === undefined) throw new Error('The page asks before it has a source.')
  return opened
}

/** Reads from this source from now on, and follows what changes there. */
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

/** Reads the list, and follows what changes in it. Who asks while it is read has it read once more, and not twice at a time. */
class Reading {
  private readonly from: PageSource
  private readonly list = new RowList()
  /** Who only looks at a session needs no list. */
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
          beyondState.value = beyond
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

  /** Rows come by the hundred: the page is drawn a few times a second. */
  private drawSoon(): void {
    this.drawing ??= setTimeout(() => this.draw(), 150)
  }

  private draw(): void {
    clearTimeout(this.drawing)
    this.drawing = undefined
    shownRows.value = this.list.all
  }
}

/** One session that is shown: read when first asked for, and again when it changes. */
class SessionResource {
  readonly state = signal<Loaded<SessionOutline>>({ kind: 'loading' })
  /** Components that show it. */
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
      // A long session that changes all the time is read half of the time at most.
      const pause = Math.max(300, performance.now() - begun)
      if (this.isWanted) await new Promise((resolve) => setTimeout(resolve, pause))
    }
    this.isReading = false
  }
}

const openSessions = new Map<string, SessionResource>()
const mostKept = 4

/** A session, for a component that shows it; drawn again when it changes. */
export function useSession(key: string): Loaded<SessionOutline> {
  const resource = openSessions.get(key) ?? new SessionResource(key)
  openSessions.set(key, resource)
  useEffect(() => {
    resource.users++
    return () => {
      resource.users--
      // The last few stay, for the way back.
      for (const [old, { users }] of openSessions)
        if (openSessions.size > mostKept && users === 0) openSessions.delete(old)
    }
  }, [resource])
  return resource.state.value
}

/** What an error says, for a person. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/**
 * The rows of the list, in the order in which they came. It is read as a whole, which takes a while, and told of changes, also meanwhile: what was told is newer
 * than what is still read.
 */
export class RowList {
  readonly #rows = new Map<string, SessionRow>()
  /** While the list is read: the keys that it had so far, and those of which a change was told. */
  #reading: { readonly read: Set<string>; readonly told: Set<string> } | undefined

  get all(): readonly SessionRow[] {
    return [...this.#rows.values()]
  }

  /** From here on the list is read. */
  begin(): void {
    this.#reading = { read: new Set(), told: new Set() }
  }

  /** Rows of the list that is read. */
  take(rows: readonly SessionRow[]): void {
    for (const row of rows) {
      this.#reading?.read.add(row.key)
      if (this.#reading?.told.has(row.key) !== true) this.#rows.set(row.key, row)
    }
  }

  /** All of it was read: what it does not have is not there. */
  end(): void {
    const reading = this.#reading
    this.#reading = undefined
    if (reading === undefined) return
    for (const key of this.#rows.keys()) if (!reading.read.has(key) && !reading.told.has(key)) this.#rows.delete(key)
  }

  /** It could not be read to its end. */
  giveUp(): void {
    this.#reading = undefined
  }

  change(rows: readonly SessionRow[], gone: readonly string[]): void {
    for (const row of rows) {
      this.#reading?.told.add(row.key)
      this.#rows.set(row.key, row)
    }
    for (const key of gone) {
      this.#reading?.told.add(key)
      this.#rows.delete(key)
    }
  }
}
