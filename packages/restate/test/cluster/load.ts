// Five hundred sessions that arrive at once, on 32 places: how long they take compared with the ideal, and in which order they begin (R-LOAD). Run by scripts/cluster.mjs:
// load.js SERVER FOLDER WORKERS; load-worker.js is in the same folder.
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { WorkerEvent } from '../../src/worker/worker-events.ts'
import { cpuMsOf } from './cpu.ts'
import { Cluster, wait } from './server.ts'
import { Workers, type WorkerProcess } from './workers.ts'

const [server = '', folder = '', workerCountText = '1', sessions = '500'] = process.argv.slice(2)
const workerCount = Number(workerCountText)
const places = 32
const count = Number(sessions)
/** A tenant with few sessions that arrive last, and one with all others. */
const few = 10

interface Sent {
  readonly at: number
  readonly event?: WorkerEvent
  readonly calls?: string
  readonly rssMb?: number
}

interface Known {
  readonly tenant: string
  readonly ms: number
  asked: number
  began?: number
  called?: number
  worker?: number
  ended?: number
  waited: number
}

const cluster = await Cluster.start(server, folder, 1)
const known = new Map<string, Known>()
const events = { trouble: 0, left: 0 }
const troubles = new Set<string>()
let maxMb = 0
const onMessage = (worker: WorkerProcess, message: unknown): void => {
  // As the worker sends it.
  const { at, event, calls = '', rssMb = 0 } = message as Sent
  maxMb = Math.max(maxMb, rssMb)
  const calling = known.get(calls)
  if (calling !== undefined) calling.called ??= at
  if (event === undefined) return
  if (event.type === 'trouble') {
    events.trouble++
    troubles.add(event.message)
  }
  const session = 'session' in event && event.session !== undefined ? known.get(event.session) : undefined
  if (session === undefined) return
  if (event.type === 'session_waiting') session.waited++
  if (event.type === 'session_left') events.left++
  if (event.type === 'session_started') {
    session.began ??= at
    session.worker ??= worker.port
  }
  if (event.type === 'session_ended') session.ended ??= at
}
const workers = await Workers.start(
  {
    program: join(dirname(fileURLToPath(import.meta.url)), 'load-worker.mjs'),
    given: (address) => [cluster.admin(), cluster.ingress(), address, String(places / workerCount)],
    logFile: join(folder, 'workers.log'),
    onMessage,
  },
  workerCount,
)
await cluster.register(workers.url)
// The engine and each worker have warmed up.
for (let index = 0; index < 4; index++) await ask(`warm-${index}`, 'warm', 10)
await wait(1_000)

async function ask(session: string, tenant: string, ms: number): Promise<void> {
  const request = { id: 'prompt', request: { type: 'prompt', content: 'Go.' }, opening: { tenant, ms } }
  await cluster.call(`halting_session/${session}/request`, request)
}

const cpus = (): readonly number[] => [
  cpuMsOf(cluster.pid()),
  ...workers.ready.map(({ process: { pid } }) => cpuMsOf(pid)),
]
const cpuBefore = cpus()
const began = Date.now()
const names = Array.from({ length: count }, (_, index) => `s-${index}`)
for (const [index, name] of names.entries())
  known.set(name, {
    tenant: index < count - few ? 'many' : 'few',
    ms: 3_000 + ((index * 37) % 1_000),
    asked: 0,
    waited: 0,
  })
const left = [...known]
await Promise.all(
  Array.from({ length: 8 }, async () => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const [name, session] = next
      session.asked = Date.now()
      await ask(name, session.tenant, session.ms)
    }
  }),
)
const asked = Date.now()
const all = [...known.values()]
for (let left = 1_600; left > 0 && all.some(({ ended }) => ended === undefined); left--) await wait(100)
const over = Math.max(...all.map(({ ended = Infinity }) => ended))
const sumMs = all.reduce((sum, { ms }) => sum + ms, 0)
/** Compared with the sessions' planned waits, and with their actual durations: the second ratio does not depend on the load of this machine. */
const nominal = (over - began) / (sumMs / places)
const tookMs = all.reduce((sum, { began: from = 0, ended: to = Infinity }) => sum + to - from, 0)
const ratio = (over - began) / (tookMs / places)
const problems: string[] = []
function expect(holds: boolean, promise: string): void {
  console.log(`${holds ? 'kept' : 'BROKEN'}: ${promise}`)
  if (!holds) problems.push(promise)
}
const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`
const waits = (tenant: string): readonly number[] =>
  all.filter((each) => each.tenant === tenant).map(({ asked: from, began: to = Infinity }) => to - from)

/** Maximum number of sessions of the same tenant that arrived clearly after a session and began before it. */
function maxOvertaken(): number {
  const many = all.filter(({ tenant }) => tenant === 'many')
  const overtaken = many.map(
    (one, index) =>
      many.slice(index + places).filter((other) => (other.began ?? Infinity) < (one.began ?? Infinity)).length,
  )
  return Math.max(...overtaken)
}

const cpuAfter = cpus()
const [ofEngine = 0, ...ofWorkers] = cpuAfter.map((cpu, index) => cpu - (cpuBefore[index] ?? 0))
const perWorker = workers.ready.map(({ port }) => all.filter(({ worker }) => worker === port).length)
console.log(
  `asked for in ${seconds(asked - began)}; measured ${seconds(over - began)}; ideal ${seconds(sumMs / places)} by what sessions wait for, ratio ${nominal.toFixed(3)}; ${seconds(tookMs / places)} by what they took, ratio ${ratio.toFixed(3)}; by worker: ${perWorker.join(', ')}`,
)
console.log(
  `longest wait: ${seconds(Math.max(...waits('many')))} of ${count - few} sessions, ${seconds(Math.max(...waits('few')))} of ${few}; CPU of the engine ${seconds(ofEngine)}, of workers ${ofWorkers.map(seconds).join(', ')}; most memory of a worker ${maxMb} MB; ${events.left} left, ${all.filter(({ waited }) => waited > 1).length} waited again`,
)
const meanOf = (what: (one: Known) => number): number => all.reduce((sum, one) => sum + what(one), 0) / count
const workMs = meanOf(({ began: from = 0, ended: to = 0, ms }) => to - from - ms)
const beforeMs = meanOf(({ began: from = 0, called = 0 }) => called - from)
const openingMs = ((over - began) * places - sumMs) / count - workMs
console.log(
  `of its place each session had ${workMs.toFixed(0)} ms beside its waiting, ${beforeMs.toFixed(0)} ms of them before it, and ${openingMs.toFixed(0)} ms before it was open`,
)
expect(
  all.every(({ ended }) => ended !== undefined),
  `all of ${count} sessions end`,
)
// If sessions arrive only as fast as this machine sends them, they fill no places.
if (asked - began > sumMs / places / 4) console.log('not judged: this machine was too busy to ask for them in time')
else
  expect(
    ratio <= 1.1,
    `all of them take at most 1.1 times what they took by themselves on ${places} places (${ratio.toFixed(3)})`,
  )
expect(
  maxOvertaken() <= places,
  `none waits for its tenant's sessions that came later (${maxOvertaken()} overtook one)`,
)
expect(
  Math.max(...waits('few')) < Math.max(...waits('many')) / 3,
  'a tenant with few sessions does not wait behind one with many',
)
expect(events.trouble === 0, `nothing fails (${[...troubles].join('; ')})`)
await workers.stop()
await cluster.stop()
process.exit(problems.length === 0 ? 0 : 1)
