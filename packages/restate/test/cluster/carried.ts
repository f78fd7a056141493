// Sessions whose work continued in other invocations, on a real node: their forks, rewinds, money and removal. Run by scripts/cluster.mjs:
// carried.mjs SERVER FOLDER; growth-worker.mjs is in the same folder.
import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { StepRecord } from '@halting/core/steps'
import type { BudgetStatus } from '../../src/fleet/budget-service.ts'
import { EngineAdmin } from '../../src/worker/engine-admin.ts'
import { Retention, retentionPorts } from '../../src/worker/retention.ts'
import { GrowthWorker, isOver, checkPromise, noted, reaches, stateOf } from './growing.ts'
import { Cluster, freePort, wait } from './server.ts'
import { SessionOnCluster } from './session-on-cluster.ts'

const [program = '', folder = ''] = process.argv.slice(2)
const log = join(folder, 'log')
const payloads = join(folder, 'payloads')
mkdirSync(payloads)
const cluster = await Cluster.start(program, folder, 1)
const port = await freePort()
const worker = new GrowthWorker(port, log, cluster.admin())
const session = (name: string): SessionOnCluster => new SessionOnCluster(cluster, name)
const prompt = (content: string) => ({ type: 'prompt', content }) as const
const opening = { turns: 40, bytes: 300_000, tenant: 'acme' }
// The handlers return it.
const budget = async (): Promise<BudgetStatus> => (await cluster.call('halting_budget/acme/status')) as BudgetStatus
const over = (run: string) => (status: Parameters<typeof isOver>[0]) => isOver(status) && status.runId === run

/** Calls of the last run in these records. */
function lastCalls(records: readonly StepRecord[]): readonly string[] {
  const begin = records.findLastIndex(({ type }) => type === 'start')
  return records
    .slice(begin)
    .flatMap((record) => (record.type === 'intent' ? (/:(c[\d.]+)$/.exec(record.key)?.slice(1) ?? []) : []))
}

const callsOf = (run: number): string => Array.from({ length: 40 }, (_, turn) => `c${run}.${turn}`).join(' ')
const startsIn = (records: readonly StepRecord[]): number => records.filter(({ type }) => type === 'start').length
const opened = (name: string): number => noted(log, 'open', name).length

/** What the engine stores of a session. */
async function rowsOf(name: string): Promise<readonly string[]> {
  const rows = await cluster.query(
    `SELECT service_name, key FROM state WHERE service_key = '${name}' AND service_name <> 'halting_budget'`,
  )
  return rows.map(({ service_name, key }) => `${String(service_name)} ${String(key)}`)
}

async function gone(name: string): Promise<void> {
  for (let left = 200; (await rowsOf(name)).length > 0 && left > 0; left--) await wait(50)
  checkPromise((await rowsOf(name)).length === 0, `nothing is left of ${name}: ${(await rowsOf(name)).join(', ')}`)
}

/** Two runs of a tenant, each in several invocations; the worker is killed in the second one. */
async function money(): Promise<void> {
  await cluster.call('halting_budget/acme/setLimit', 100)
  let most = 0
  const watched = new AbortController()
  const watching = (async () => {
    for (; !watched.signal.aborted; await wait(20)) most = Math.max(most, (await budget()).holders)
  })()
  await session('cut').ask('p1', prompt('go'), opening)
  await reaches(session('cut'), over('run1'))
  const first = opened('cut')
  await session('cut').ask('p2', prompt('again'))
  await reaches(session('cut'), ({ runId, turns }) => runId === 'run2' && turns > 10)
  // A fork has the conversation of the finished runs.
  await cluster.call('halting_session/cut/fork', { as: 'early' })
  await worker.kill()
  worker.start(payloads, '60', 'growth-worker', cluster.ingress())
  await reaches(session('cut'), over('run2'))
  watched.abort()
  await watching
  const records = await session('cut').records()
  checkPromise(first > 2 && opened('cut') > first + 2, `its runs are ${opened('cut')} invocations`)
  checkPromise(
    startsIn(records) === 2 && lastCalls(records).join(' ') === callsOf(2),
    'each call of its run is there once',
  )
  const { holders, leasedUsd, settledUsd } = await budget()
  const done = (await cluster.call('halting_session/cut/done')) as { readonly committedNanos: number }
  console.log(
    `acme: at most ${most} leases at once, $${settledUsd} settled, the session says $${done.committedNanos / 1e9}`,
  )
  checkPromise(most === 1 && holders === 0, 'it has one lease, which is closed')
  checkPromise(
    Math.round(leasedUsd * 1e9) === done.committedNanos && Math.round(settledUsd * 1e9) === done.committedNanos,
    'its tenant has paid what it spent, once',
  )
}

async function copies(): Promise<void> {
  await cluster.call('halting_session/cut/fork', { as: 'late' })
  for (const [name, runs] of [
    ['early', 1],
    ['late', 2],
  ] as const) {
    checkPromise(startsIn(await session(name).records()) === runs, `the copy ${name} has ${runs} of the runs`)
    const bytes = [...(await stateOf(cluster, name)).values()].reduce((sum, each) => sum + each, 0)
    checkPromise(bytes < 1_000_000, `what is large of it is in the payload store: ${bytes} bytes of state`)
    await session(name).ask('p9', prompt('more'))
    await reaches(session(name), over(`run${runs + 1}`))
    checkPromise(lastCalls(await session(name).records()).join(' ') === callsOf(runs + 1), 'and it goes on from there')
  }
  await session('cut').ask('back', { type: 'rewind', before: 'p2' })
  await session('cut').ask('p3', prompt('otherwise'))
  await reaches(session('cut'), over('run3'))
  checkPromise(lastCalls(await session('cut').records()).join(' ') === callsOf(2), 'what was taken back was never said')
  const { holders } = await budget()
  checkPromise(holders === 0, 'copies have closed their leases')
}

async function removals(): Promise<void> {
  const { settledUsd } = await budget()
  checkPromise(
    (await cluster.call('halting_session/cut/remove', {})) === true,
    'a session that was carried on is removed',
  )
  await gone('cut')
  // A removal during a run waits for its end, however many invocations follow.
  await session('late').ask('p10', prompt('last'))
  await reaches(session('late'), ({ state, turns }) => state === 'running' && turns > 3)
  await cluster.call('halting_session/late/remove', {})
  await gone('late')
  checkPromise((await budget()).holders === 0 && (await budget()).settledUsd > settledUsd, 'what it spent stays spent')
}

/** As a worker with --retain does, by a clock that is ahead. */
async function retention(): Promise<void> {
  for (const name of ['asks', 'young'])
    await session(name).ask('p1', prompt('go'), { ...opening, turns: 2, asks: name === 'asks' })
  await reaches(session('asks'), ({ questions }) => questions.length > 0)
  await reaches(session('young'), over('run1'))
  const clock = { now: Date.now() }
  const events: unknown[] = []
  const ports = retentionPorts(new EngineAdmin(cluster.admin()), { url: cluster.ingress() })
  const old = new Retention({ ports, retainMs: 3_600_000, report: (event) => events.push(event), now: () => clock.now })
  clock.now += 7_200_000
  await session('young').ask('p2', prompt('more'))
  await reaches(session('young'), over('run2'))
  old.update({ isHere: true, resting: [] }, new AbortController().signal)
  while (events.length === 0) await wait(20)
  console.log(JSON.stringify(events))
  await gone('early')
  await gone('young')
  checkPromise((await session('asks').status()).questions.length === 1, 'one that asks a person stays')
  await session('asks').ask('no', { type: 'close' })
  await reaches(session('asks'), ({ isWorking }) => !isWorking)
  await cluster.call('halting_session/asks/remove', {})
  await gone('asks')
  const files = readdirSync(payloads, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  checkPromise(files.length === 0, `no payload is left: ${files.length}`)
}

try {
  worker.start(payloads, '60', 'growth-worker', cluster.ingress())
  await cluster.register(`http://127.0.0.1:${port}`)
  for (const part of [money, copies, removals, retention]) await part()
} catch (error) {
  console.error(await cluster.unfinished())
  throw error
} finally {
  await worker.kill()
  await cluster.stop()
}
process.exit(0)
