// A long queue at one worker: its cost, a person who ends waiting work, another worker that joins, and workers that end while many sessions wait (R-LOAD). Run by
// scripts/cluster.mjs: queue.js SERVER FOLDER; load-worker.js is in the same folder.
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { WorkerEvent } from '../../src/worker/worker-events.ts'
import { cpuMsOf } from './cpu.ts'
import { Cluster, wait } from './server.ts'
import { linesOf } from './sessions-of.ts'
import { Workers, type WorkerProcess } from './workers.ts'

const [server = '', folder = ''] = process.argv.slice(2)
const places = 4
const longMs = 50_000
const names = Array.from({ length: 160 }, (_, index) => `short-${index}`)

interface Sent {
  readonly event?: WorkerEvent
  readonly calls?: string
  readonly rssMb?: number
}

const cluster = await Cluster.start(server, folder, 1)
/** Sessions in the order in which they were reported, with the process. */
const seen: {
  readonly type: string
  readonly session: string
  readonly pid: number | undefined
  readonly at: number
}[] = []
const calls: string[] = []
const troubles = new Set<string>()
const memoryMb = new Map<number | undefined, number>()
const onMessage = ({ process: { pid } }: WorkerProcess, message: unknown): void => {
  // As the worker sends it.
  const { event, calls: called, rssMb } = message as Sent
  if (rssMb !== undefined) memoryMb.set(pid, rssMb)
  if (called !== undefined) calls.push(called)
  if (event?.type === 'trouble') troubles.add(event.message)
  else if (event !== undefined && 'session' in event)
    seen.push({ type: event.type, session: event.session, pid, at: Date.now() })
}
const callsFile = join(folder, 'calls')
const workers = await Workers.start(
  {
    program: join(dirname(fileURLToPath(import.meta.url)), 'load-worker.mjs'),
    given: (address) => [cluster.admin(), cluster.ingress(), address, String(places), callsFile],
    logFile: join(folder, 'workers.log'),
    onMessage,
  },
  1,
)
await cluster.register(workers.url)
const problems: string[] = []
function expect(holds: boolean, promise: string): void {
  console.log(`${holds ? 'kept' : 'BROKEN'}: ${promise}`)
  if (!holds) problems.push(promise)
}
const ask = async (session: string, id: string, request: object, opening = {}): Promise<void> => {
  await cluster.call(`halting_session/${session}/request`, { id, request, opening })
}
const prompt = (session: string, ms: number): Promise<void> =>
  ask(session, 'prompt', { type: 'prompt', content: 'Go.' }, { ms })
const did = (type: string, session: string): boolean => seen.some((one) => one.type === type && one.session === session)
const ended = (): number => names.filter((name) => did('session_ended', name)).length
async function until(holds: () => boolean, seconds: number): Promise<number> {
  const from = Date.now()
  while (!holds() && Date.now() - from < seconds * 1_000) await wait(50)
  return Date.now() - from
}

const began = Date.now()
const long = Array.from({ length: places }, (_, index) => `long-${index}`)
await Promise.all(long.map((name) => prompt(name, longMs)))
await until(() => long.every((name) => calls.includes(name)), 20)
const [worker] = workers.ready
if (worker === undefined) throw new Error('The worker is gone.')
const emptyMb = memoryMb.get(worker.process.pid) ?? 0
for (let at = 0; at < names.length; at += 8) await Promise.all(names.slice(at, at + 8).map((name) => prompt(name, 800)))
await until(() => names.every((name) => did('session_waiting', name)), 20)

// The cost of waiting, including heartbeat records.
const cpus = (): readonly number[] => [cpuMsOf(cluster.pid()), cpuMsOf(worker.process.pid)]
const before = cpus()
const from = Date.now()
const interrupted = 'short-80'
await wait(2_000)
await ask(interrupted, 'end', { type: 'interrupt' })
const heardMs = await until(() => did('session_ended', interrupted), 20)
expect(
  did('session_ended', interrupted) && !calls.includes(interrupted),
  `a person ends what waits while all places are taken (${heardMs} ms)`,
)
await wait(Math.max(0, began + 47_000 - Date.now()))
const [engineMs = 0, workerMs = 0] = cpus().map(
  (cpu, index) => (cpu - (before[index] ?? 0)) / ((Date.now() - from) / 1_000),
)
console.log(
  `${names.length - 1} sessions that wait cost the engine ${(engineMs / 10).toFixed(1)} % of a core and their worker ${(workerMs / 10).toFixed(1)} %; its memory ${emptyMb} MB before, ${memoryMb.get(worker.process.pid)} MB with them`,
)
expect(
  seen.filter(({ type, session }) => type === 'session_waiting' && session !== interrupted).length === names.length - 1,
  'each is reported once that it waits, and nothing while nothing changes',
)
expect(!seen.some(({ type }) => type === 'session_left'), 'none has left while it waited')

// Another worker joins while all places of the first are taken.
await workers.add()
const other = workers.ready.find((one) => one !== worker)
const startedBy = (pid: number | undefined): number =>
  names.filter((name) => seen.some((one) => one.type === 'session_started' && one.session === name && one.pid === pid))
    .length
const movedMs = await until(() => startedBy(other?.process.pid) >= places, 30)
expect(startedBy(other?.process.pid) >= places, `a worker that comes gets what waits at another one (${movedMs} ms)`)

// One worker is terminated and another killed while many sessions wait.
const waitedAtEnd = names.length - ended()
const drainFrom = Date.now()
await workers.drain(worker)
const drainMs = Date.now() - drainFrom
console.log(`the terminated worker took ${drainMs} ms, with a grace of 1 s and ${waitedAtEnd} sessions open`)
expect(drainMs < 5_000, 'a terminated worker does not wait for its queue')
await wait(3_000)
const openAtKill = names.length - ended()
if (other !== undefined) await workers.kill(other)
await until(() => ended() === names.length && long.every((name) => did('session_ended', name)), 60)
console.log(
  `${openAtKill} sessions were open when the other one was killed; all were over after ${((Date.now() - began) / 1_000).toFixed(0)} s`,
)
expect(
  ended() === names.length && long.every((name) => did('session_ended', name)),
  `all of ${names.length + places} sessions end`,
)
const made = linesOf(callsFile)
const twice = names.filter((name) => made.filter((one) => one === name).length > 1)
const never = names.filter((name) => !made.includes(name) && name !== interrupted)
// A process that was killed after the intent of a call did not make it, and no other does.
expect(
  twice.length === 0 && never.length <= places * 2,
  `no call was made twice (${twice.length}), and none is missing but of sessions at work in a process that ended (${never.length})`,
)
expect(troubles.size === 0, `nothing fails (${[...troubles].join('; ')})`)
await workers.stop()
await cluster.stop()
process.exit(problems.length === 0 ? 0 : 1)
