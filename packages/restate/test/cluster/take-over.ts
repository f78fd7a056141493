// Running sessions move from one worker to another at an iteration, and nothing is killed; what the other worker cannot read stays or is paused. Run by scripts/cluster.mjs:
// take-over.js SERVER FOLDER; worker.js and worker-later.js, the same with a later format, are in the same folder.
import { spawn, type ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { SessionRequest } from '../../src/service/messages.ts'
import type { SessionStatus } from '../../src/service/status.ts'
import { Cluster, freePort, wait } from './server.ts'

const [program = '', folder = ''] = process.argv.slice(2)
const here = dirname(fileURLToPath(import.meta.url))
const log = join(folder, 'log')
const cluster = await Cluster.start(program, folder, 1)
const processes: ChildProcess[] = []
const problems: string[] = []

function expect(holds: boolean, promise: string): void {
  console.log(`${holds ? 'kept' : 'BROKEN'}: ${promise}`)
  if (!holds) problems.push(promise)
}

async function worker(
  name: 'worker' | 'worker-later',
  as: 'stays' | 'takes-over',
  port: number,
): Promise<ChildProcess> {
  const args = [join(here, `${name}.mjs`), String(port), log, cluster.admin(), as]
  const env = { ...process.env, RESTATE_LOGGING: 'ERROR' }
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'], env })
  processes.push(child)
  await cluster.register(`http://127.0.0.1:${port}`)
  return child
}

async function killed(child: ChildProcess): Promise<void> {
  const gone = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGKILL')
  await gone
}

async function ask(session: string, id: string, request: SessionRequest, opening?: object): Promise<void> {
  await cluster.call(`halting_session/${session}/request`, { id, request, ...(opening !== undefined && { opening }) })
}

async function until(session: string, holds: (status: SessionStatus) => boolean): Promise<SessionStatus> {
  for (let left = 240; ; left--) {
    // The object returns it.
    const status = (await cluster.call(`halting_session/${session}/status`)) as SessionStatus
    if (holds(status) || left === 0) return status
    await wait(250)
  }
}

/** Notes of the workers about a session: `PID WHAT SESSION …`. */
function noted(session: string, what: string): readonly string[] {
  const lines = readFileSync(log, 'utf8')
    .split('\n')
    .map((line) => line.split(' '))
  return lines.filter(([, , verb, about]) => verb === what && about === session).map((line) => line.slice(1).join(' '))
}

const openedBy = (session: string, child: ChildProcess): boolean =>
  noted(session, 'open').some((line) => line.startsWith(`${child.pid} `))
const isBoundTo = async (session: string, port: number): Promise<boolean> => {
  const rows = await cluster.query(
    `SELECT d.endpoint AS at FROM sys_invocation i JOIN sys_deployment d ON i.pinned_deployment_id = d.id WHERE i.target_service_name = 'halting_session' AND i.target_handler_name = 'work' AND i.target_service_key = '${session}'`,
  )
  return rows.some(({ at }) => String(at).includes(`:${port}`))
}
const allow = async (session: string, ...calls: readonly string[]): Promise<void> => {
  for (const callId of calls) await ask(session, callId, { type: 'answer', callId, answer: { behavior: 'allow' } })
}
const isIdle = ({ state }: SessionStatus): boolean => state === 'idle'
const asksFor = { turns: 2, asks: true }
const allCalls = ['p0a', 'p0b', 'p1a', 'p1b']
const go: SessionRequest = { type: 'prompt', content: 'go' }

const [oldPort, laterPort, newPort] = [await freePort(), await freePort(), await freePort()]
const older = await worker('worker', 'stays', oldPort)
const turns = 60
await ask('runs', 'm1', go, { turns, toolMs: 250 })
await ask('waits', 'm1', go, asksFor)
await until('waits', ({ state }) => state === 'requires_action')
await until('runs', (status) => status.turns >= 2)

const later = await worker('worker-later', 'takes-over', laterPort)
await wait(5_000)
expect(
  !openedBy('runs', later) && !openedBy('waits', later) && noted('runs', 'open').length === 1,
  'a worker of another format takes nothing over: what runs stays and goes on',
)
await ask('later', 'm1', go, asksFor)
await until('later', ({ state }) => state === 'requires_action')

const newer = await worker('worker', 'takes-over', newPort)
for (let left = 120; left > 0 && !(openedBy('runs', newer) && (await isBoundTo('waits', newPort))); left--)
  await wait(250)
expect(openedBy('runs', newer), 'a session that runs goes to the worker that takes over, at a lap')
expect(await isBoundTo('waits', newPort), 'and so does one that waits for a person')
expect(older.exitCode === null, 'nobody was killed')
await allow('waits', ...allCalls)
await until('waits', isIdle)
const ended = await until('runs', isIdle)
expect(ended.reason === 'completed', `it ends as it would have (${ended.reason})`)
const paid = [...noted('runs', 'paid'), ...noted('waits', 'paid')].map((line) => line.split(' ').slice(2).join(' '))
expect(
  paid.length === (turns + 2) * 2 && new Set(paid).size === paid.length,
  `each of its calls was made once (${paid.length}, ${new Set(paid).size} of them different)`,
)

await killed(later)
const wrong = await worker('worker', 'stays', laterPort)
await allow('later', 'p0a')
const stopped = await until('later', ({ stalled }) => stalled?.needsResume === true)
expect(
  stopped.state === 'paused' && stopped.stalled?.message.includes('written in format 3') === true,
  `where no worker reads its format, a session is paused and says so: ${stopped.stalled?.message}`,
)
await killed(wrong)
await worker('worker-later', 'stays', laterPort)
await allow('later', ...allCalls.slice(1))
const atLast = await until('later', isIdle)
expect(
  atLast.reason === 'completed' && noted('later', 'paid').length === 4,
  'it goes on when a worker that does is registered, and nobody has to resume it',
)
const left = await cluster.unfinished()
expect(left.length === 0, `nothing is left in the engine ${JSON.stringify(left)}`)

for (const problem of problems) console.error(problem)
for (const child of processes) child.kill('SIGKILL')
await cluster.stop()
process.exit(problems.length === 0 ? 0 : 1)
