// A worker of a later version next to one of this: where sessions go, and what happens to those that reach the wrong one. Run by scripts/cluster.mjs:
// upgrade.js SERVER FOLDER; worker.js and worker-later.js, the same with a later format, are in the same folder.
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

function worker(name: 'worker' | 'worker-later', port: number): ChildProcess {
  const args = [join(here, `${name}.mjs`), String(port), log, cluster.admin()]
  const env = { ...process.env, RESTATE_LOGGING: 'ERROR' }
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'], env })
  processes.push(child)
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

async function statusOf(session: string): Promise<SessionStatus> {
  // The object returns it.
  return (await cluster.call(`halting_session/${session}/status`)) as SessionStatus
}

async function until(session: string, holds: (status: SessionStatus) => boolean): Promise<SessionStatus> {
  for (let left = 240; ; left--) {
    const status = await statusOf(session)
    if (holds(status) || left === 0) return status
    await wait(250)
  }
}

/** Notes of the workers about a session, as `PID what`. */
function noted(session: string, what: string): readonly string[] {
  const lines = readFileSync(log, 'utf8')
    .split('\n')
    .map((line) => line.split(' '))
  return lines.filter(([, , verb, about]) => verb === what && about === session).map((line) => line.slice(1).join(' '))
}

const isOver = (run: string) => (status: SessionStatus) => status.state === 'idle' && status.runId === run
const isPaused = ({ state }: SessionStatus): boolean => state === 'paused'
const isBy = (child: ChildProcess) => (line: string) => line.startsWith(`${child.pid} `)

/** Binds it to a worker that can continue it. Returns the engine's answer if that is refused. */
async function resume({ stalled }: SessionStatus, deployment?: string): Promise<void> {
  if (stalled === undefined) return
  const path = `${cluster.admin()}/invocations/${stalled.invocation}`
  // The engine moves what it has paused.
  if (!stalled.needsResume && deployment !== undefined) await fetch(`${path}/pause`, { method: 'PATCH' })
  for (let left = 20; ; left--) {
    const to = deployment === undefined ? '' : `?deployment=${deployment}`
    const response = await fetch(`${path}/resume${to}`, { method: 'PATCH' })
    if (response.ok) return
    if (left === 0) throw new Error(await response.text())
    await wait(500)
  }
}

const [oldPort, newPort] = [await freePort(), await freePort()]
const older = worker('worker', oldPort)
await cluster.register(`http://127.0.0.1:${oldPort}`)
// Its answers are stored separately: only data with such texts is in the later format.
await ask('a', 'm1', { type: 'prompt', content: 'go' }, { turns: 20, toolMs: 100, words: 2_000 })
while ((await statusOf('a')).turns < 3) await wait(100)

const first = worker('worker-later', newPort)
await cluster.register(`http://127.0.0.1:${newPort}`)
await ask('b', 'm1', { type: 'prompt', content: 'go' }, { turns: 2, asks: true })
await until('b', ({ state }) => state === 'requires_action')
expect(noted('b', 'open').every(isBy(first)), 'a session that begins goes to the later version')
await until('a', isOver('run1'))
expect(noted('a', 'open').every(isBy(older)) && noted('a', 'ended').length === 1, 'one that runs ends on its own')
await ask('a', 'm2', { type: 'prompt', content: 'more' })
await until('a', isOver('run2'))
expect(
  isBy(first)(noted('a', 'ended')[1] ?? ''),
  'its next prompt goes to the later version, which knows what was said',
)

await killed(first)
const wrong = worker('worker', newPort)
await ask('b', 'a1', { type: 'answer', callId: 'p0a', answer: { behavior: 'allow' } })
const stopped = await until('b', isPaused)
expect(isPaused(stopped), 'a session of a later format is paused where an earlier version has taken the place')
expect(
  stopped.stalled?.message.includes('written in format 3') === true,
  'its status says which format it was written in',
)
expect(
  noted('b', 'open').every(isBy(first)) && noted('b', 'paid').length === 0,
  'the earlier version did nothing in it',
)
await killed(wrong)
const again = worker('worker-later', newPort)
if (stopped.stalled?.needsResume === true) await resume(stopped)
for (const callId of ['p0b', 'p1a', 'p1b'])
  await ask('b', callId, { type: 'answer', callId, answer: { behavior: 'allow' } })
await until('b', isOver('run1'))
expect(noted('b', 'ended').length === 1, 'it goes on when the later version is there again')
expect(
  new Set(noted('b', 'paid').map((line) => line.split(' ').at(-1))).size === 4 && noted('b', 'paid').length === 4,
  'each of its calls was made once',
)

await cluster.register(`http://127.0.0.1:${oldPort}`)
await ask('a', 'm3', { type: 'prompt', content: 'more' })
const back = await until('a', isPaused)
expect(
  back.stalled?.message.includes('written in format 3') === true,
  'an earlier version that is registered again leaves alone what it cannot read',
)
const [deployment] = await cluster.query(`SELECT id FROM sys_deployment WHERE endpoint LIKE '%:${newPort}/'`)
await resume(back, String(deployment?.['id']))
await until('a', isOver('run3'))
expect(isBy(again)(noted('a', 'ended')[2] ?? ''), 'and it goes on by the version that can')

await fetch(`${cluster.ingress()}/halting_session/a/remove`, { method: 'POST' })
expect((await statusOf('a')).records === 0, 'a session that was removed is new')
const left = await cluster.query("SELECT key FROM state WHERE service_key = 'a'")
expect(left.length === 0, 'and nothing is kept of it')

for (const problem of problems) console.error(problem)
for (const child of processes) child.kill('SIGKILL')
await cluster.stop()
process.exit(problems.length === 0 ? 0 : 1)
