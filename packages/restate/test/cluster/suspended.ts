// A thousand sessions that wait for a person, suspended in the engine, and then a thousand answers within seconds: each call is made once, no place is idle, and the memory of
// the worker is bounded (R-LOAD, R-WORK-3a). Run by scripts/cluster.mjs: suspended.js SERVER FOLDER SESSIONS; load-worker.js is in the same folder.
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { WorkerEvent } from '../../src/worker/worker-events.ts'
import { cpuMsOf } from './cpu.ts'
import { Cluster, wait } from './server.ts'
import { linesOf } from './sessions-of.ts'
import { Workers, type WorkerProcess } from './workers.ts'

const [server = '', folder = '', given = '1000'] = process.argv.slice(2)
const names = Array.from({ length: Number(given) }, (_, index) => `s-${index}`)
const places = 32

interface Sent {
  readonly event?: WorkerEvent
  readonly rssMb?: number
}

const cluster = await Cluster.start(server, folder, 1)
const rested = new Set<string>()
const ended: string[] = []
const troubles = new Set<string>()
let memoryMb = 0
let maxMb = 0
const onMessage = (_worker: WorkerProcess, message: unknown): void => {
  // As the worker sends it.
  const { event, rssMb } = message as Sent
  memoryMb = rssMb ?? memoryMb
  maxMb = Math.max(maxMb, memoryMb)
  if (event?.type === 'trouble') troubles.add(event.message)
  if (event?.type === 'session_resting') rested.add(event.session)
  if (event?.type === 'session_ended') ended.push(event.session)
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
const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`
async function each(act: (name: string) => Promise<void>): Promise<number> {
  const from = Date.now()
  const left = [...names]
  const one = async (): Promise<void> => {
    for (let name = left.shift(); name !== undefined; name = left.shift()) await act(name)
  }
  await Promise.all(Array.from({ length: 16 }, one))
  return Date.now() - from
}
const request = (name: string, id: string, what: object, opening = {}): Promise<unknown> =>
  cluster.call(`halting_session/${name}/request`, { id, request: what, opening })
const countOf = async (where: string): Promise<number> => {
  const rows = await cluster.query(
    `SELECT count(*) AS n FROM sys_invocation WHERE target_service_name = 'halting_session' AND target_handler_name = 'work' AND ${where}`,
  )
  return Number(rows[0]?.['n'])
}

const emptyMb = maxMb
const askedMs = await each(async (name) => {
  await request(name, 'prompt', { type: 'prompt', content: 'Go.' }, { ms: 20, asks: true })
})
const from = Date.now()
// Sessions with the last places keep them.
while (rested.size < names.length - places && Date.now() - from < 60_000) await wait(200)
const restedMs = Date.now() - from
const askingMb = maxMb
let suspended = 0
while (Date.now() - from < 75_000 && suspended < names.length) {
  await wait(1_000)
  suspended = await countOf("status = 'suspended'")
}
console.log(
  `asked for in ${seconds(askedMs)}; all rest ${seconds(restedMs)} later; the engine holds ${suspended} of ${names.length} alone ${seconds(Date.now() - from)} later; memory of the worker ${emptyMb} MB before, ${askingMb} MB at most while they came, ${memoryMb} MB then`,
)
expect(suspended === names.length, 'who waits for a person is with the engine alone')
expect(linesOf(callsFile).length === 0, 'no call is made before it is allowed')

const cpus = (): readonly number[] => [cluster.pid(), workers.ready[0]?.process.pid].map((pid) => cpuMsOf(pid))
const before = cpus()
maxMb = memoryMb
const answers = Date.now()
const answeredMs = await each(async (name) => {
  await request(name, 'answer', { type: 'answer', callId: 'wait', answer: { behavior: 'allow' } })
})
while (ended.length < names.length && Date.now() - answers < 90_000) await wait(100)
const overMs = Date.now() - answers
const [engineMs = 0, workerMs = 0] = cpus().map((cpu, index) => cpu - (before[index] ?? 0))
console.log(
  `answered in ${seconds(answeredMs)}, all over in ${seconds(overMs)}; CPU of the engine ${seconds(engineMs)}, of the worker ${seconds(workerMs)}; its memory ${maxMb} MB at most`,
)
const made = linesOf(callsFile)
expect(ended.length === names.length, `all of ${names.length} sessions end (${ended.length})`)
expect(
  made.length === names.length && new Set(made).size === names.length,
  `each call is made once (${made.length}, ${new Set(made).size} of them different)`,
)
expect(maxMb < 600, `the memory of the worker is bounded (${maxMb} MB)`)
expect(troubles.size === 0, `nothing fails (${[...troubles].join('; ')})`)
await workers.stop()
await cluster.stop()
process.exit(problems.length === 0 ? 0 : 1)
