// How much a session stores, on a real node: what its tools returned once, and of running work no more than an invocation may have; and what an earlier version makes of it.
// Run by scripts/cluster.mjs: growth.mjs SERVER FOLDER; growth-worker.mjs stands beside it, and growth-worker-earlier.mjs, which reads nothing that this version added.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { bytesOnDisk, GrowthWorker, isOver, checkPromise, megabytes, noted, reaches, stateOf } from './growing.ts'
import { demand } from './programs.ts'
import { Cluster, freePort, wait } from './server.ts'
import { SessionOnCluster } from './session-on-cluster.ts'

const [program = '', folder = ''] = process.argv.slice(2)
const log = join(folder, 'log')
const data = join(folder, 'data')
const payloads = join(folder, 'payloads')
mkdirSync(payloads)
const cluster = await Cluster.start(program, folder, 1)
const port = await freePort()
const worker = new GrowthWorker(port, log, cluster.admin())

async function journalOf(session: string): Promise<{ readonly bytes: number; readonly entries: number }> {
  const [row] = await cluster.query(
    `SELECT sum(raw_length) AS bytes, count(*) AS entries FROM sys_journal WHERE id IN (SELECT id FROM sys_invocation WHERE target_service_key = '${session}')`,
  )
  return { bytes: Number(row?.['bytes'] ?? 0), entries: Number(row?.['entries'] ?? 0) }
}

/** 40 results of a tool, and what is stored of them. */
async function outputs(name: string, bytes: number): Promise<number> {
  const session = new SessionOnCluster(cluster, name)
  const before = bytesOnDisk(data)
  await session.ask('p1', { type: 'prompt', content: 'go' }, { turns: 40, bytes })
  await reaches(session, isOver)
  const results = (await session.records()).flatMap((record) =>
    record.type === 'result' && record.key.includes('/tool:') ? [JSON.stringify(record.value).length] : [],
  )
  demand(
    results.length === 40 && results.every((length) => length > bytes),
    `${name}: results that are read: ${results.join(', ')}`,
  )
  // The next prompt builds on it.
  await session.ask('p2', { type: 'prompt', content: 'again' })
  await reaches(session, (status) => isOver(status) && status.runId === 'run2')
  const state = await stateOf(cluster, name)
  const sum = [...state.values()].reduce((all, each) => all + each, 0)
  const kinds = [...state].filter(([, size]) => size > 50_000).map(([kind, size]) => `${kind} ${megabytes(size)}`)
  console.log(
    `${name}: two runs of 40 results with ${bytes} bytes, ${megabytes(80 * bytes)} in all: ${megabytes(sum)} of state (${kinds.join(', ')}), data folder ${megabytes(bytesOnDisk(data) - before)} more`,
  )
  return sum
}

async function storedOnce(): Promise<void> {
  worker.start()
  await cluster.register(`http://127.0.0.1:${port}`)
  const whole = 80 * 205_000
  checkPromise(
    (await outputs('inline', 205_000)) < 1.05 * whole,
    'what tools returned is in the state of a session once',
  )
  checkPromise((await outputs('short', 20_000)) < 1.3 * 80 * 20_000, 'so are results of 20 kB')
  await worker.kill()
  worker.start(payloads)
  checkPromise((await outputs('below', 205_000)) < 1.05 * whole, 'with a payload store so is what is below its bound')
  const before = bytesOnDisk(payloads)
  const state = await outputs('above', 305_000)
  const stored = bytesOnDisk(payloads) - before
  console.log(`above: ${megabytes(stored)} in the payload store`)
  checkPromise(stored < 1.05 * 80 * 305_000 && state < 1_000_000, 'and what is above it is in the store once')
  await worker.kill()
}

/** A worker of an earlier version gets data that it cannot read. */
async function earlier(): Promise<void> {
  const port = await freePort()
  const other = new GrowthWorker(port, log, cluster.admin())
  const [long, short] = [new SessionOnCluster(cluster, 'long'), new SessionOnCluster(cluster, 'brief')]
  other.start()
  await cluster.register(`http://127.0.0.1:${port}`)
  for (const [session, bytes] of [
    [long, 10_000],
    [short, 100],
  ] as const) {
    await session.ask('p1', { type: 'prompt', content: 'go' }, { turns: 2, bytes })
    await reaches(session, isOver)
  }
  await other.kill()
  other.start('', '', 'growth-worker-earlier')
  await cluster.register(`http://127.0.0.1:${port}`)
  for (const session of [long, short]) await session.ask('p2', { type: 'prompt', content: 'more' })
  await reaches(short, (status) => isOver(status) && status.runId === 'run2')
  checkPromise(true, 'an earlier version goes on with a session without long texts')
  const opened = noted(log, 'open', 'long').length
  const { stalled } = await reaches(long, ({ state }) => state === 'paused')
  checkPromise(
    stalled?.message.includes('written in format 2') === true && noted(log, 'open', 'long').length === opened,
    'one with long texts is stopped there, and says why; nothing is done in it',
  )
  await other.kill()
  other.start()
  await cluster.register(`http://127.0.0.1:${port}`)
  await reaches(long, (status) => isOver(status) && status.runId === 'run2')
  checkPromise(noted(log, 'did', 'long').length === 4, 'and goes on by itself when a worker is there that reads it')
  await left(`http://127.0.0.1:${port}`)
  await other.kill()
}

/** Work at a worker of an earlier version moves to one of this version when that worker is gone. */
async function left(newer: string): Promise<void> {
  const port = await freePort()
  const before = new GrowthWorker(port, log, cluster.admin())
  before.start('', '', 'growth-worker-earlier')
  await cluster.register(`http://127.0.0.1:${port}`)
  const session = new SessionOnCluster(cluster, 'left')
  await session.ask('p1', { type: 'prompt', content: 'go' }, { turns: 20, toolMs: 100 })
  await reaches(session, ({ turns }) => turns > 2)
  await cluster.register(newer)
  await before.kill()
  await reaches(session, isOver)
  const did = noted(log, 'did', 'left')
  checkPromise(
    new Set(did).size === did.length && did.length >= 19 && noted(log, 'open', 'left').length === 2,
    'what runs on an earlier version moves when its worker is gone',
  )
}

/** The tool call of a step. */
function callIn(key: string): readonly string[] {
  const call = /\/tool:.*:(c[\d.]+)$/.exec(key)?.[1]
  return call === undefined ? [] : [call]
}

/** An invocation ends after 100 records, and the worker is killed at about that time. */
async function renewed(): Promise<void> {
  const port = await freePort()
  const other = new GrowthWorker(port, log, cluster.admin(), cluster.ingress())
  other.start('', '100')
  await cluster.register(`http://127.0.0.1:${port}`)
  const session = new SessionOnCluster(cluster, 'renewed')
  const turns = 100
  await session.ask('p1', { type: 'prompt', content: 'go' }, { turns, toolMs: 5 })
  const invocations = new Set<string>()
  let most = 0
  let kills = 0
  for (let isDone = false; !isDone;) {
    const rows = await cluster.query(
      `SELECT id, journal_size FROM sys_invocation WHERE target_service_key = 'renewed' AND target_handler_name = 'work'`,
    )
    const before = invocations.size
    for (const { id, journal_size } of rows) {
      invocations.add(String(id))
      most = Math.max(most, Number(journal_size))
    }
    // A new run: its worker dies, and another one takes over.
    if (invocations.size > before && before % 2 === 1 && kills < 6) {
      kills++
      await other.kill()
      other.start('', '100')
    }
    const status = await session.status()
    demand(status.stalled === undefined, `The work does not go on: ${JSON.stringify(status.stalled)}`)
    isDone = isOver(status)
    await wait(10)
  }
  const records = await session.records()
  const did = noted(log, 'did', 'renewed')
  const { turns: reportedTurns } = await session.status()
  const calls = records.flatMap((record) => (record.type === 'intent' ? callIn(record.key) : []))
  const unknown = records.flatMap((record) =>
    record.type === 'result' && JSON.stringify(record.value).includes('is unknown') ? callIn(record.key) : [],
  )
  const results = records.flatMap((record) => (record.type === 'result' ? callIn(record.key) : []))
  const all = Array.from({ length: turns }, (_, turn) => `c1.${turn}`)
  console.log(
    `renewed: ${records.length} records in ${invocations.size} invocations, of which none had more than ${most} entries; ${kills} kills; ${did.length} calls, ${unknown.length} unknown`,
  )
  checkPromise(invocations.size > 5, 'the work goes on as another invocation after so many records')
  checkPromise(
    records.filter(({ type }) => type === 'start').length === 1 && reportedTurns === turns + 1,
    'it stays one run',
  )
  checkPromise(
    records.flatMap(({ type }) => (type === 'lap' ? [type] : [])).length === turns &&
      [calls, results].every((each) => each.join(' ') === all.join(' ')),
    'it has every iteration and every call once, in their order',
  )
  checkPromise(
    new Set(did).size === did.length && all.every((call) => did.includes(call) || unknown.includes(call)),
    'no call is made twice, and every call that was not made is reported to the model as unknown',
  )
  checkPromise(unknown.length <= kills, 'of no more calls than there were kills')
  checkPromise(most < 800, 'the journal of each has a bound')
  const counted = await cluster.query("SELECT key FROM state WHERE service_name = 'halting_attempts'")
  checkPromise(
    kills > 0 && counted.length === 0,
    'what one has counted of ends of its workers is not counted in the next',
  )
  await other.kill()
}

/** Work that awaits nothing runs far ahead of what is on record. */
async function fast(): Promise<void> {
  const port = await freePort()
  const other = new GrowthWorker(port, log, cluster.admin())
  const most = 2_000
  other.start('', String(most))
  await cluster.register(`http://127.0.0.1:${port}`)
  const session = new SessionOnCluster(cluster, 'fast')
  await session.ask('p1', { type: 'prompt', content: 'go' }, { turns: 1_500, reads: true })
  const { records, turns } = await reaches(session, isOver, 120_000)
  const invocations = noted(log, 'open', 'fast').length
  console.log(`fast: ${records} records of ${turns} turns in ${invocations} invocations`)
  checkPromise(
    turns === 1_501 && invocations >= Math.floor(records / (most + 20)),
    'so it does where nothing is written',
  )
  await other.kill()
}

/** How long a worker takes to take over a session, with many records in one invocation and with few. */
async function replays(): Promise<void> {
  const port = await freePort()
  const other = new GrowthWorker(port, log, cluster.admin())
  const times: number[] = []
  for (const [name, most] of [
    ['one', '1000000'],
    ['several', '2000'],
  ] as const) {
    other.start('', most)
    await cluster.register(`http://127.0.0.1:${port}`)
    const session = new SessionOnCluster(cluster, name)
    await session.ask('p1', { type: 'prompt', content: 'go' }, { turns: 100_000 })
    await reaches(session, ({ records }) => records > 19_000, 120_000)
    await other.kill()
    const { bytes, entries } = await journalOf(name)
    const opened = noted(log, 'open', name).length
    const began = performance.now()
    other.start('', most)
    while (noted(log, 'open', name).length === opened) await wait(10)
    times.push(performance.now() - began)
    console.log(
      `${name}: a worker takes up ${(await session.status()).records} records in ${Math.round(times.at(-1) ?? 0)} ms, its start included; journal of ${entries} entries, ${megabytes(bytes)}`,
    )
    await session.ask('stop', { type: 'stop' })
    await reaches(session, isOver)
    await other.kill()
  }
  checkPromise((times[1] ?? Infinity) < (times[0] ?? 0), 'who takes a session up reads the last invocation alone')
}

/** The cost of sessions with many long texts for taking over, listing and reading. */
async function reads(): Promise<void> {
  const port = await freePort()
  const other = new GrowthWorker(port, log, cluster.admin())
  other.start()
  await cluster.register(`http://127.0.0.1:${port}`)
  const timed = async (what: string, does: () => Promise<string | void>): Promise<void> => {
    const began = performance.now()
    const result = await does()
    console.log(
      `${what}: ${Math.round(performance.now() - began)} ms${typeof result === 'string' ? `, ${result}` : ''}`,
    )
  }
  for (const [name, turns, bytes] of [
    ['twenty', 100, 200_000],
    ['many', 10_000, 5_000],
  ] as const) {
    const session = new SessionOnCluster(cluster, name)
    await session.ask('p1', { type: 'prompt', content: 'go' }, { turns, bytes, reads: true })
    await timed(`${name}: ${turns} results of ${bytes} bytes`, async () => {
      await reaches(session, isOver, 400_000)
    })
    const state = await stateOf(cluster, name)
    console.log(`${name}: ${[...state].map(([kind, size]) => `${kind} ${megabytes(size)}`).join(', ')}`)
    const opened = noted(log, 'open', name).length
    await timed(`${name}: opened for the next prompt`, async () => {
      await session.ask('p2', { type: 'prompt', content: 'again' })
      while (noted(log, 'open', name).length === opened) await wait(5)
    })
    await session.ask('stop', { type: 'stop' })
    await reaches(session, isOver, 400_000)
    await timed(`${name}: status`, async () => void (await session.status()))
    await timed(`${name}: listed`, async () => {
      const rows = await cluster.query(
        `SELECT service_key, value_utf8 FROM state WHERE service_name = 'halting_session' AND key = 'status'`,
      )
      return `${rows.length} rows`
    })
    await timed(`${name}: all records`, async () => `${(await session.records()).length} records`)
  }
  await other.kill()
}

const parts = { storedOnce, earlier, renewed, fast }
/** Measurements, which take long: HALTING_PART=replays, HALTING_PART=reads. */
const measurements = { replays, reads }
const chosen = process.env['HALTING_PART']
try {
  if (chosen === undefined) for (const part of Object.values(parts)) await part()
  else for (const [name, part] of Object.entries({ ...parts, ...measurements })) if (name === chosen) await part()
} catch (error) {
  console.error(await cluster.unfinished())
  throw error
} finally {
  await worker.kill()
  await cluster.stop()
}
process.exit(0)
