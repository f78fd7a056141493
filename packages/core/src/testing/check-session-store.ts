import { ConfigurationError, HaltingError, messageOf } from '../values/errors.ts'
import { streamRun } from '../api/iterate.ts'
import { startRun } from '../api/start.ts'
import { copySession } from '../steps/copy-session.ts'
import { createMemorySteps } from '../steps/memory-steps.ts'
import type { StepRecord } from '../steps/step-record.ts'
import type { OpenSession, SessionStore, StoredSessionInfo } from '../steps/session-store.ts'
import { canonical, checkStepEngine, type CheckedStore } from './check-step-engine.ts'
import { runChecks, type Checks, type Report, type StepEngineProblem } from './run-checks.ts'
import { scriptedModel } from './scripted-model.ts'

/** A process connected to a store. */
export interface CheckedConnection {
  /** The store, through this connection. */
  readonly store: SessionStore
  /** Kills the process: unflushed records may be lost, and its locks are those of a dead process. Nothing else is called on this connection. */
  readonly kill: () => Promise<void>
  /** Stalls the process for so long that others may take its locks. Afterwards it continues without knowing that. */
  readonly stall: () => Promise<void>
}

/** A database for `checkSessionStore`, initially empty. */
export interface CheckedSessionStore {
  /** Connects another process. */
  connect(): Promise<CheckedConnection> | CheckedConnection
  /** Marks the stored data of a session as written by a later version. No process has it open. */
  writeAsLaterVersion(sessionId: string): Promise<void>
  /** Replaces a record of a session by damaged data; records are numbered from 0. No process has it open. */
  damageRecord(sessionId: string, number: number): Promise<void>
}

type Make = () => CheckedSessionStore | Promise<CheckedSessionStore>

/** Options of `checkSessionStore`. */
export interface SessionStoreCheckOptions {
  /** Maximum duration of one check in milliseconds; a store that never answers is reported. Default: a minute. */
  readonly longestCheckMs?: number
}

/**
 * Checks the contract of a `SessionStore` through its public methods: order, durability, locks and their numbers, lists,
 * removal, damage, large records and copies. It includes `checkStepEngine`: a run that is killed between any two records
 * ends, and no side effect happens twice. `make` returns a new, empty database each time. Returns the problems: empty
 * for a conforming store.
 */
export async function checkSessionStore(
  make: Make,
  { longestCheckMs = 60_000 }: SessionStoreCheckOptions = {},
): Promise<readonly StepEngineProblem[]> {
  const problems = await runChecks(checks, make, longestCheckMs)
  const engine = await checkStepEngine(async () => stepsOf(await make()), { longestCheckMs })
  return [...problems, ...engine]
}

const checks: Checks<CheckedSessionStore> = {
  'order and durability': async (make, report) => {
    const place = await make()
    const { store, kill } = await place.connect()
    const records = await recordsOfRun()
    const session = await store.open('one', { title: 'A title', cwd: '/work', version: '1.0.0' })
    for (const [index, record] of records.entries()) {
      session.log.append(record)
      if (index % 3 === 0) await session.log.flush()
    }
    await session.log.flush()
    await kill()
    const other = await place.connect()
    const again = await other.store.open('one', { title: 'Another' })
    const read = await other.store.read('one')
    same(read?.records, records, 'The records that were read differ from those appended', report)
    same(
      again.ended.map(({ terminal }) => terminal.reason),
      ['completed'],
      'The runs that ended are',
      report,
    )
    const { title, cwd, version } = again.head
    same([title, cwd, version], ['A title', '/work', '1.0.0'], 'The head of the session is', report)
    await other.store.close()
  },

  'unflushed records': async (make, report) => {
    const records = await recordsOfRun()
    for (let flushed = 1; flushed < records.length; flushed += 2) {
      const place = await make()
      const { store, kill } = await place.connect()
      const session = await store.open('one')
      for (const record of records.slice(0, flushed)) session.log.append(record)
      await session.log.flush()
      for (const record of records.slice(flushed)) session.log.append(record)
      await kill()
      const { store: other } = await place.connect()
      const found = (await other.read('one'))?.records ?? []
      if (found.length < flushed) report(`${flushed} records were flushed, but ${found.length} were read.`)
      same(found, records.slice(0, found.length), 'The remaining records are not the first appended ones', report)
      await other.close()
    }
  },

  'two openers': async (make, report) => {
    const place = await make()
    const [one, two] = [await place.connect(), await place.connect()]
    const session = await one.store.open('one')
    await refused(() => two.store.open('one'), 'A session that is in use was opened by a second process', report)
    await refused(() => one.store.open('one'), 'A session was opened twice by one process', report)
    await session.close()
    const second = await two.store.open('one')
    if (second.fence <= session.fence) report('The number of a lock did not rise.')
    // Closing twice must not release the second lock.
    await session.close()
    await refused(() => one.store.open('one'), 'A session closed twice released the lock of another process', report)
    await Promise.all([one.store.close(), two.store.close()])
  },

  'openers at once': async (make, report) => {
    const place = await make()
    const connections = await Promise.all(Array.from({ length: 5 }, async () => place.connect()))
    for (const id of ['new', 'new', 'another']) {
      const opened = await Promise.allSettled(connections.map(({ store }) => store.open(id)))
      const got = opened.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
      if (got.length !== 1) report(`Of five that opened a session at once, ${got.length} got it.`)
      for (const session of got) await session.close()
    }
    await Promise.all(connections.map(({ store }) => store.close()))
  },

  'dead process': async (make, report) => {
    const place = await make()
    const { store, kill } = await place.connect()
    const before = await store.open('one')
    await kill()
    const other = await place.connect()
    const after = await other.store.open('one')
    if (after.fence <= before.fence) report('The number of a lock did not rise.')
    await other.store.close()
  },

  fencing: async (make, report) => {
    const place = await make()
    const [slow, quick] = [await place.connect(), await place.connect()]
    const [first, ...rest] = await recordsOfRun()
    const old = await slow.store.open('one')
    append(old, first)
    await old.log.flush()
    await slow.stall()
    const present = await quick.store.open('one')
    append(old, ...rest)
    await refused(async () => old.log.flush(), 'A process that lost its lock wrote to the session.', report)
    append(present, ...rest)
    await present.log.flush()
    await old.close().catch(() => {})
    await refused(() => slow.store.open('one'), 'A process that lost its lock released that of another.', report)
    same(
      (await slow.store.read('one'))?.records,
      [first, ...rest],
      'The records are not those of the last lock',
      report,
    )
    await present.close()
    await quick.store.remove('one')
    // A new session with the same id is not the lost session.
    const stale = await slow.store.open('one')
    await slow.stall()
    const taken = await quick.store.open('one')
    await taken.close()
    await quick.store.remove('one')
    const anew = await quick.store.open('one')
    append(stale, first)
    await refused(async () => stale.log.flush(), 'A process wrote to a removed session.', report)
    if (anew.fence <= taken.fence) report('The number of a lock did not rise over a removal.')
    await stale.close().catch(() => {})
    await slow.store.close().catch(() => {})
    await quick.store.close()
  },

  list: async (make, report) => {
    const place = await make()
    const { store } = await place.connect()
    const records = await recordsOfRun()
    for (const id of ['a', 'b', 'c', 'd'])
      await stored(store, id, id === 'c' ? records.slice(0, 2) : records, id < 'c' ? '/one' : '/two')
    const again = await store.open('b')
    append(again, ...records)
    await again.log.flush()
    const ids = (list: readonly StoredSessionInfo[]): string => list.map(({ sessionId }) => sessionId).join()
    const all = await store.list()
    same(ids(all), 'b,d,c,a', 'The one that was written last is not the first', report)
    same(ids(await store.list({ limit: 2 })), 'b,d', 'The first two are', report)
    same(ids(await store.list({ limit: 2, after: 'd' })), 'c,a', 'Those after d are', report)
    same(ids(await store.list({ after: 'a' })), '', 'Those after the last are', report)
    same(ids(await store.list({ cwd: '/one' })), 'b,a', 'Those of a folder are', report)
    same(
      all.map((each) => each.lastReason),
      ['completed', 'completed', null, 'completed'],
      'They ended as',
      report,
    )
    same(
      all.map((each) => each.isLocked),
      [true, false, false, false],
      'Open in a process are',
      report,
    )
    same(
      all.map((each) => each.records),
      [2, 1, 0, 1].map((runs) => (runs === 0 ? 2 : runs * records.length)),
      'Numbers of records are',
      report,
    )
    if (all.some(({ bytes }) => !(bytes > 0))) report('A session has no size.')
    for (const { createdAt, updatedAt } of all)
      if (!isIsoTime(createdAt) || !isIsoTime(updatedAt)) report(`Times are ${createdAt} and ${updatedAt}.`)
    await rejectsWith(
      ConfigurationError,
      () => store.list({ after: 'nothing' }),
      'A page after no session was listed.',
      report,
    )
    await store.close()
  },

  remove: async (make, report) => {
    const place = await make()
    const { store } = await place.connect()
    const records = await recordsOfRun()
    await stored(store, 'one', records)
    await stored(store, 'two', records)
    const open = await store.open('one')
    await refused(() => store.remove('one'), 'An open session was removed.', report)
    await open.close()
    same([await store.remove('one'), await store.remove('one')], [true, false], 'It was removed twice', report)
    same(await store.read('one'), undefined, 'A removed session reads as', report)
    same((await store.read('two'))?.records.length, records.length, 'Another one has records', report)
    const anew = await store.open('one')
    same([anew.open, anew.ended], [undefined, []], 'A removed session starts with', report)
    await store.close()
  },

  retention: async (make, report) => {
    const place = await make()
    const { store } = await place.connect()
    const records = await recordsOfRun()
    for (const id of ['a', 'b', 'c']) await stored(store, id, records)
    const open = await store.open('b')
    const newest =
      (await store.list())
        .map(({ updatedAt }) => updatedAt)
        .toSorted()
        .at(-1) ?? ''
    same(await store.removeOlderThan(dateOf('2001-01-01T00:00:00.000Z')), 0, 'Older than 2001 are', report)
    const later = dateOf(`${Number(newest.slice(0, 4)) + 1}${newest.slice(4)}`)
    same(await store.removeOlderThan(later), 2, 'Older than the next year, and not open, are', report)
    same(
      (await store.list()).map(({ sessionId }) => sessionId),
      ['b'],
      'Left are',
      report,
    )
    await open.close()
    await store.close()
  },

  'later version': async (make, report) => {
    const place = await make()
    const { store } = await place.connect()
    const records = await recordsOfRun()
    await stored(store, 'one', records)
    await stored(store, 'two', records)
    await place.writeAsLaterVersion('one')
    await refused(() => store.open('one'), 'A session of a later version was opened.', report)
    await refused(() => store.read('one'), 'A session of a later version was read.', report)
    same((await store.list()).length, 2, 'Sessions in the list are', report)
    same((await store.read('two'))?.records.length, records.length, 'Another one has records', report)
    await store.close()
  },

  damage: async (make, report) => {
    const place = await make()
    const { store } = await place.connect()
    await stored(store, 'whole', await recordsOfRun())
    await stored(store, 'broken', await recordsOfRun())
    await place.damageRecord('broken', 2)
    for (const attempt of [() => store.read('broken'), () => store.open('broken')])
      await refused(attempt, 'A damaged record was accepted.', report, /(?=.*\bbroken\b).*\b2\b/s)
    // A failed attempt to read must not lock the session.
    same(await store.remove('broken'), true, 'A damaged session was removed', report)
    await (await store.open('whole')).close()
    await store.close()
  },

  'large records': async (make, report) => {
    const place = await make()
    const { store } = await place.connect()
    const odd = '\u0000\u0001\u2028\ud83d\ude00 \ud800 \udfff "\\\' é 漢 $1 ?1 %s \r\n'
    const large = odd.repeat(150_000)
    const value = { content: large, [odd]: [odd, null, 0, -1.5e300, true, {}] }
    const record: StepRecord = { type: 'result', key: 'k', digest: null, value, at: 1, durationMs: 2 }
    const records = [...(await recordsOfRun()).slice(0, 1), record, record]
    await stored(store, 'one', records)
    same((await store.read('one'))?.records, records, 'Large records that were read differ from those appended', report)
    await store.close()
  },

  names: async (make, report) => {
    const place = await make()
    const { store } = await place.connect()
    const ids = ["it's", 'a"b', '../up', 'A', 'a', 'é', '漢字 😀', '%', '_', 'x; DROP TABLE', ' ']
    for (const [index, id] of ids.entries())
      await stored(store, id, (await recordsOfRun()).slice(0, 1 + (index % 3)), id)
    for (const [index, id] of ids.entries()) {
      const found = await store.read(id)
      same(
        [found?.info.sessionId, found?.info.cwd, found?.records.length],
        [id, id, 1 + (index % 3)],
        'A session is',
        report,
      )
    }
    for (const id of ['', 'a\u0000b', '\ud800', 'x'.repeat(201)])
      await rejectsWith(
        ConfigurationError,
        () => store.open(id),
        `${JSON.stringify(id)} was accepted as an id.`,
        report,
      )
    await store.close()
  },

  'close of the store': async (make, report) => {
    const place = await make()
    const { store } = await place.connect()
    const records = await recordsOfRun()
    const sessions = [await store.open('one'), await store.open('two')]
    for (const session of sessions) append(session, ...records)
    await store.close()
    await store.close()
    await refused(() => store.open('three'), 'A closed store opened a session.', report)
    const { store: other } = await place.connect()
    for (const id of ['one', 'two'])
      same((await other.read(id))?.records, records, 'Records appended before the end were not read', report)
    await (await other.open('one')).close()
    await other.close()
  },

  'copy to another store': async (make, report) => {
    const [from, to] = [(await (await make()).connect()).store, (await (await make()).connect()).store]
    const records = await recordsOfRun()
    await stored(from, 'one', records, '/work', '2020-02-03T04:05:06.000Z')
    same(await copySession(from, to, 'one'), records.length, 'Copied were', report)
    const [before, after] = [await from.read('one'), await to.read('one')]
    same(after?.records, before?.records, 'The records of a copy are not those of the original', report)
    same(after?.info.createdAt, '2020-02-03T04:05:06.000Z', 'A copy began', report)
    same([after?.info.cwd, after?.info.lastReason], ['/work', 'completed'], 'A copy is', report)
    await rejectsWith(ConfigurationError, () => copySession(from, to, 'one'), 'A copy replaced a session.', report)
    await rejectsWith(ConfigurationError, () => copySession(from, to, 'nothing'), 'Nothing was copied.', report)
    await to.remove('one')
    const open = await from.open('one')
    await refused(() => copySession(from, to, 'one'), 'An open session was copied.', report)
    same(await to.read('one'), undefined, 'A session that was not copied reads as', report)
    await open.close()
    await Promise.all([from.close(), to.close()])
  },
}

/** The records of a short, completed run, as JSON returns them. */
async function recordsOfRun(): Promise<readonly StepRecord[]> {
  const steps = createMemorySteps()
  const model = scriptedModel([{ toolCalls: [{ name: 'Look', id: 'l1' }] }, 'Done.'])
  const lookTool = {
    name: 'Look',
    description: 'Looks.',
    inputSchema: { type: 'object' },
    readOnly: true,
    execute: () => 'seen',
  } as const
  await streamRun(startRun({ prompt: 'go', sessionId: 'session' }), { model, tools: [lookTool], steps }).result
  // Records are JSON.
  return JSON.parse(JSON.stringify(steps.records)) as readonly StepRecord[]
}

function append(session: OpenSession, ...records: readonly (StepRecord | undefined)[]): void {
  for (const record of records) if (record !== undefined) session.log.append(record)
}

async function stored(
  store: SessionStore,
  id: string,
  records: readonly StepRecord[],
  cwd?: string,
  createdAt?: string,
): Promise<void> {
  const session = await store.open(id, {
    ...(cwd !== undefined && { cwd }),
    ...(createdAt !== undefined && { createdAt }),
  })
  append(session, ...records)
  await session.close()
}

/** The session of a database, for `checkStepEngine`. */
function stepsOf(place: CheckedSessionStore): CheckedStore {
  return {
    async open() {
      const { store, kill } = await place.connect()
      const { transcript, open, log } = await store.open('session')
      return { transcript, open, log, kill, close: () => store.close() }
    },
    writeAsLaterVersion: () => place.writeAsLaterVersion('session'),
  }
}

/** The time in a text, without reading a clock. */
function dateOf(text: string): Date {
  // `Reflect.construct` returns an instance of its first argument.
  return Reflect.construct<[string], Date>(Date, [text])
}

function isIsoTime(text: string): boolean {
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(text)
}

function same(found: unknown, expected: unknown, what: string, report: Report): void {
  const [one, other] = [canonical(found), canonical(expected)]
  if (one !== other) report(`${what}: ${shortened(one)}, not ${shortened(other)}.`)
}

function shortened(text: string): string {
  return text.length > 300 ? `${text.slice(0, 300)}…` : text
}

async function refused(attempt: () => Promise<unknown>, problem: string, report: Report, says?: RegExp): Promise<void> {
  await rejectsWith(HaltingError, attempt, problem, report, says)
}

async function rejectsWith(
  type: abstract new (...parts: never) => HaltingError,
  attempt: () => Promise<unknown>,
  problem: string,
  report: Report,
  says?: RegExp,
): Promise<void> {
  try {
    await attempt()
  } catch (error) {
    if (!(error instanceof type)) report(`It was refused with ${messageOf(error)}, which is not a ${type.name}.`)
    else if (says !== undefined && !says.test(error.message)) report(`It was refused with ${error.message}`)
    return
  }
  report(problem)
}
