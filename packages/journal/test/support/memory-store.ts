import { HaltingError } from '@halting/core'
import {
  DurableStepEngine,
  foldSession,
  splitRuns,
  type OpenSession,
  type SessionHead,
  type SessionListOptions,
  type SessionStore,
  type StepRecord,
  type StoredSessionInfo,
} from '@halting/core/steps'

interface Row {
  readonly head: SessionHead
  readonly createdAt: string
  updatedAt: string
  /** As JSON: what a database returns shares no object with anyone. */
  records: string[]
  holder: string | undefined
  fence: number
}

/** What several processes share: a table of sessions, without anything that a killed process lost. */
export class StoreTable {
  readonly rows = new Map<string, Row>()
  #ticks = 0

  /** Returns increasing times. */
  now(): string {
    return new Date(Date.UTC(2026, 0, 1) + this.#ticks++ * 1_000).toISOString()
  }
}

/** A store in memory, as one process sees it. */
export class MemorySessionStore implements SessionStore {
  readonly #table: StoreTable
  readonly #process: string
  asked = 0
  isBroken = false

  constructor(table: StoreTable, process = 'process 1') {
    this.#table = table
    this.#process = process
  }

  async open(sessionId: string, head: SessionHead = {}): Promise<OpenSession> {
    this.#ask()
    const now = this.#table.now()
    const row =
      this.#table.rows.get(sessionId) ??
      ({
        head,
        createdAt: head.createdAt ?? now,
        updatedAt: now,
        records: [],
        holder: undefined,
        fence: 0,
      } satisfies Row)
    if (row.holder !== undefined)
      throw new HaltingError('driver', `The session ${sessionId} is in use by ${row.holder}.`)
    this.#table.rows.set(sessionId, row)
    row.holder = this.#process
    row.fence++
    const pending: string[] = []
    const fence = row.fence
    const flush = async (): Promise<void> => {
      await Promise.resolve()
      if (this.isBroken) throw new Error('connection refused for ann:secret@db')
      if (row.fence !== fence) throw new HaltingError('driver', `The session ${sessionId} was taken over.`)
      row.records.push(...pending.splice(0))
      row.updatedAt = this.#table.now()
    }
    const log = {
      keeps: 'all',
      append: (record: StepRecord) => void pending.push(JSON.stringify(record)),
      flush,
    } as const
    const folded = foldSession(splitRuns(recordsOf(row)))
    return {
      ...folded,
      sessionId,
      head: row.head,
      fence,
      log,
      steps: () => new DurableStepEngine({ log, sessionId }),
      close: async () => {
        await flush()
        row.holder = undefined
      },
    }
  }

  async read(sessionId: string): ReturnType<SessionStore['read']> {
    this.#ask()
    const row = this.#table.rows.get(sessionId)
    if (row?.records.includes('damaged') === true) throw new HaltingError('driver', 'record 1 is damaged')
    return row === undefined ? undefined : { info: infoOf(sessionId, row), records: recordsOf(row) }
  }

  async list({ cwd, limit = 1_000, after }: SessionListOptions = {}): Promise<readonly StoredSessionInfo[]> {
    this.#ask()
    const all = [...this.#table.rows]
      .map(([sessionId, row]) => infoOf(sessionId, row))
      .filter((info) => cwd === undefined || info.cwd === cwd)
      .toSorted((a, b) => b.updatedAt.localeCompare(a.updatedAt))
    const from = after === undefined ? 0 : all.findIndex((info) => info.sessionId === after) + 1
    return all.slice(from, from + limit)
  }

  async remove(sessionId: string): Promise<boolean> {
    this.#ask()
    const holder = this.#table.rows.get(sessionId)?.holder
    if (holder !== undefined) throw new HaltingError('driver', `The session ${sessionId} is in use by ${holder}.`)
    return this.#table.rows.delete(sessionId)
  }

  async removeOlderThan(moment: Date): Promise<number> {
    this.#ask()
    const old = [...this.#table.rows].filter(
      ([, row]) => row.holder === undefined && row.updatedAt < moment.toISOString(),
    )
    for (const [sessionId] of old) this.#table.rows.delete(sessionId)
    return old.length
  }

  async close(): Promise<void> {}

  #ask(): void {
    this.asked++
    if (this.isBroken) throw new Error('connection refused for ann:secret@db')
  }
}

function recordsOf(row: Row): StepRecord[] {
  return row.records.map((json): StepRecord => JSON.parse(json))
}

function infoOf(sessionId: string, row: Row): StoredSessionInfo {
  const { head, createdAt, updatedAt, records, holder } = row
  const bytes = records.join('').length
  return {
    ...head,
    sessionId,
    createdAt,
    updatedAt,
    records: records.length,
    bytes,
    lastReason: null,
    isLocked: holder !== undefined,
  }
}
