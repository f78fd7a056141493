// The check of all drivers on a real engine. Run by scripts/cluster.mjs on a Node version that the SDK supports: kit.mjs SERVER FOLDER NODES workers|servers
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { HaltingError, type HaltingErrorCode } from '@halting/core'
import { foldSession, type StepRecord } from '@halting/core/steps'
import { checkStepEngine, type CheckedSession, type CheckedStore } from '@halting/core/testing'
import { Hits } from './hits.ts'
import type { KitNews, KitOrder } from './kit-messages.ts'
import { Cluster } from './server.ts'
import { Workers, type WorkerProcess } from './workers.ts'

const [program = '', folder = '', nodes = '1', kills = 'workers'] = process.argv.slice(2)

/** An attempt of a worker at a session. */
interface Attempt {
  readonly worker: WorkerProcess
  readonly id: number
  readonly records: readonly StepRecord[]
  /** Callers that wait for a flush, by number. */
  readonly flushes: Map<number, () => void>
  /** A process of the kit that continues it. */
  isUsed: boolean
  readonly lost: Promise<void>
  readonly lose: () => void
}

/** The current attempt at a session, and callers that wait for one. */
class Door {
  attempt: Attempt | undefined
  readonly #waiting: { readonly resolve: (attempt: Attempt) => void; readonly reject: (error: Error) => void }[] = []

  get opened(): Promise<Attempt> {
    if (this.attempt !== undefined) return Promise.resolve(this.attempt)
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }))
  }

  open(attempt: Attempt): void {
    // The previous attempt is over, even if that was not reported yet.
    this.lose()
    this.attempt = attempt
    for (const { resolve } of this.#waiting.splice(0)) resolve(attempt)
  }

  lose(): void {
    const { attempt } = this
    this.attempt = undefined
    if (attempt?.isUsed === true) moved++
    attempt?.lose()
  }

  refuse(error: Error): void {
    for (const { reject } of this.#waiting.splice(0)) reject(error)
  }
}

const doors = new Map<string, Door>()
const later = new Set<string>()
/** Sessions that are no longer used. */
const retired = new Set<string>()
/** Sessions that may be used, the oldest first. */
const inUse: string[] = []
/** By the last record. */
const hits = new Hits()
let slowestServer = 0
let slowestOpen = 0
/** Sessions that the engine moved away from a worker by itself. */
let moved = 0

const workers = await Workers.start(
  {
    program: fileURLToPath(new URL('kit-worker.mjs', import.meta.url)),
    logFile: join(folder, 'workers.log'),
    onReady: (worker) => {
      for (const key of later) order(worker, { type: 'later', key })
    },
    onExit: (worker) => lose((attempt) => attempt.worker === worker),
    // Only kit-worker.ts sends messages.
    onMessage: (worker, message) => hear(worker, message as KitNews),
  },
  2,
)
const cluster = await Cluster.start(program, folder, nodes === '3' ? 3 : 1)
await cluster.register(workers.url)

function order(worker: WorkerProcess, what: KitOrder): void {
  worker.tell(what)
}

function hear(worker: WorkerProcess, news: KitNews): void {
  const isIts = (attempt: Attempt): boolean => attempt.worker === worker && 'id' in news && attempt.id === news.id
  switch (news.type) {
    case 'opened': {
      if (retired.has(news.key)) return order(worker, { type: 'finish', id: news.id })
      let settle = (): void => {}
      const lost = new Promise<void>((resolve) => (settle = resolve))
      const { id, records } = news
      doors.get(news.key)?.open({ worker, id, records, flushes: new Map(), isUsed: false, lost, lose: settle })
      return
    }
    case 'flushed':
      for (const { attempt } of doors.values())
        if (attempt !== undefined && isIts(attempt)) attempt.flushes.get(news.flush)?.()
      return
    case 'lost':
      lose(isIts)
      return
    case 'failed': {
      // It was serialized before.
      const code = news.code as HaltingErrorCode | null
      doors.get(news.key)?.refuse(code === null ? new Error(news.message) : new HaltingError(code, news.message))
    }
  }
}

function lose(which: (attempt: Attempt) => boolean): void {
  for (const door of doors.values()) {
    if (door.attempt !== undefined && which(door.attempt)) door.lose()
  }
}

let count = 0
async function killOne({ worker, id }: Attempt, at: string): Promise<void> {
  count++
  const kind =
    kills === 'servers' && count % 12 === 0
      ? 'a server'
      : count % 2 === 0
        ? 'a worker process'
        : 'the connections of a worker'
  hits.add(`killed ${kind}`, new Map([[`after ${at}`, 1]]))
  if (kind === 'a server') {
    const began = Date.now()
    await cluster.kill(count % cluster.size)
    await cluster.ready()
    slowestServer = Math.max(slowestServer, Date.now() - began)
  }
  if (kind === 'a worker process') await workers.kill(worker)
  else if (kind !== 'a server') workers.cut(worker)
  // It may live on as an attempt that does not know that it is over.
  order(worker, { type: 'leave', id })
  if (process.env['HALTING_TELL'] !== undefined) console.error(new Date().toISOString(), 'killed', kind, at)
}

function realStore(): CheckedStore {
  const key = randomUUID()
  const door = new Door()
  inUse.push(key)
  if (inUse.length > 3) retire(inUse.shift() ?? '')
  const store: CheckedStore = {
    async open() {
      if (!doors.has(key)) {
        doors.set(key, door)
        await cluster.call(`kit/${key}/open/send`)
      }
      const began = Date.now()
      const attempt = await door.opened
      slowestOpen = Math.max(slowestOpen, Date.now() - began)
      return sessionOf(door, attempt)
    },
    async writeAsLaterVersion() {
      later.add(key)
      workers.tell({ type: 'later', key } satisfies KitOrder)
      const { log, lost } = await store.open()
      // It writes a batch that it cannot read.
      log.append({ type: 'rewind', entries: 0, after: null })
      await lost
    },
  }
  return store
}

/** Nobody opens it again: a check uses at most two stores. */
function retire(key: string): void {
  retired.add(key)
  const attempt = doors.get(key)?.attempt
  doors.delete(key)
  if (attempt !== undefined) order(attempt.worker, { type: 'finish', id: attempt.id })
}

function sessionOf(door: Door, attempt: Attempt): CheckedSession {
  const { worker, id, records, flushes, lost } = attempt
  const { transcript, open } = foldSession(records.length === 0 ? [] : [records])
  attempt.isUsed = true
  let flush = 0
  let at = 'nothing'
  const leave = (): void => {
    attempt.isUsed = false
    if (door.attempt === attempt) door.attempt = undefined
  }
  const log: CheckedSession['log'] = {
    keeps: 'all',
    append(record) {
      at = placeOf(record)
      order(worker, { type: 'append', id, record })
    },
    flush() {
      const number = ++flush
      return new Promise<void>((resolve) => {
        flushes.set(number, resolve)
        order(worker, { type: 'flush', id, flush: number })
      })
    },
  }
  return {
    transcript,
    open,
    log,
    lost,
    async close() {
      await log.flush()
      leave()
      order(worker, { type: 'leave', id })
    },
    async kill() {
      leave()
      await killOne(attempt, at)
    },
  }
}

/** The kind of a record: `intent of tool`. */
function placeOf(record: StepRecord): string {
  if (!('key' in record)) return record.type
  return `${record.type} of ${/\/([a-z_]+):/.exec(record.key)?.[1] ?? record.key}`
}

// With several nodes, the engine needs time until another one leads.
const problems = await checkStepEngine(realStore, { longestCheckMs: 240_000 })
for (const { check, problem } of problems) console.error(`${check}: ${problem}`)
if (problems.length > 0) {
  console.error(`In use: ${inUse.map((key) => `${key} ${doors.get(key)?.attempt?.id ?? 'not open'}`).join(', ')}`)
  for (const row of await cluster.unfinished().catch((error: unknown) => [String(error)]))
    console.error(JSON.stringify(row))
}
console.log(
  `the engine took ${moved} sessions from a worker by itself; at most ${slowestServer} ms until all nodes took requests, ${slowestOpen} ms until a session was open`,
)
for (const line of hits.lines()) console.log(line)
await workers.stop()
await cluster.stop()
process.exit(problems.length === 0 ? 0 : 1)
