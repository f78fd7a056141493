// The engine's disk fills up while sessions run, and is freed again (R-OPER-1, R-OPER-3). The disk is a file system in memory, which only root can mount. A
// supervisor as in docs/guide/operating.md restarts an engine that accepts no more records. Run by scripts/cluster.mjs: disk-full.js SERVER FOLDER store|log, by
// which part of the engine has no room
import { execFileSync, spawn } from 'node:child_process'
import { closeSync, mkdirSync, openSync, readFileSync, rmSync, statfsSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { SessionStatus } from '../../src/service/status.ts'
import { demand, Programs, until } from './programs.ts'
import { unknownOutcome } from './sessions-of.ts'
import { Cluster, freePort, wait } from './server.ts'
import { skip } from './skip.ts'

const [server = '', folder = '', what = 'store'] = process.argv.slice(2)
/** The disk: of the whole engine, of which 154 MB are used at once, or of its log, with 75 MB. */
const disk = join(folder, 'data', ...(what === 'log' ? ['n1', 'log-store'] : []))
const size = { full: what === 'log' ? '84m' : '224m', roomy: '640m' }
const sessions = Array.from({ length: 8 }, (_, index) => `s${index}`)
const [turns, toolMs] = [60, 100]
const maxBefore = 15_000

mkdirSync(disk, { recursive: true })
try {
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size.full}`, 'tmpfs', disk], { stdio: 'pipe' })
} catch {
  skip('a file system in memory can be mounted by root alone')
}

const cluster = await Cluster.start(server, folder, 1)
const programs = new Programs(folder)
const port = await freePort()
const worker = `http://127.0.0.1:${port}`
const log = join(folder, 'worker.log')
const child = spawn(
  process.execPath,
  [
    join(dirname(fileURLToPath(import.meta.url)), 'worker.mjs'),
    String(port),
    log,
    cluster.admin(),
    'stays',
    cluster.ingress(),
  ],
  { stdio: ['ignore', 'inherit', 'inherit'] },
)

interface Answer {
  readonly status: number
  readonly because: string | undefined
  readonly tookMs: number
}

async function ready(): Promise<Answer> {
  const began = performance.now()
  const response = await fetch(`${worker}/ready`, { signal: AbortSignal.timeout(10_000) }).catch(() => undefined)
  const body = ((await response?.json().catch(() => undefined)) ?? {}) as { readonly because?: string }
  return { status: response?.status ?? 0, because: body.because, tookMs: performance.now() - began }
}

const statusOf = (session: string): Promise<SessionStatus> =>
  cluster.call(`halting_session/${session}/status`) as Promise<SessionStatus>

/** Nobody waits for its answer. */
function prompt(session: string, content: string, opening: object): void {
  const body = JSON.stringify({ id: 'm1', content, opening })
  void fetch(`${cluster.ingress()}/halting_session/${session}/prompt`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
    signal: AbortSignal.timeout(120_000),
  }).catch(() => undefined)
}

const paid = (): readonly string[] =>
  readFileSync(log, 'utf8')
    .split('\n')
    .filter((line) => line.includes(' paid s'))
    .map((line) => line.split(' ').slice(3).join(' '))

/** The metrics of a node whose log accepts no more records, until it is restarted. */
async function isDisabled(): Promise<boolean> {
  const response = await fetch(`${cluster.node()}/metrics`, { signal: AbortSignal.timeout(2_000) }).catch(
    () => undefined,
  )
  const text = (await response?.text().catch(() => '')) ?? ''
  return /^restate_log_server_store_records_total\{[^}]*status="disabled"[^}]*\} [1-9]/m.test(text)
}

const freeMb = (): number => {
  const { bavail, bsize } = statfsSync(disk)
  return Math.floor((bavail * bsize) / 1_000_000)
}

function fill(): void {
  const file = openSync(join(disk, 'ballast'), 'a')
  const block = Buffer.alloc(1_000_000)
  try {
    for (;;) writeSync(file, block)
  } catch {
    // The disk is full.
  } finally {
    closeSync(file)
  }
}

/** Calls that were reported to the model as unknown: they were made once or not at all. */
async function unknownIn(session: string): Promise<number> {
  const seen: unknown[] = []
  for (;;) {
    const page = (await cluster.call(`halting_session/${session}/records`, seen.length)) as {
      readonly records: readonly unknown[]
    }
    if (page.records.length === 0) break
    seen.push(...page.records)
  }
  const results = seen.filter((record) => JSON.stringify(record).includes(`"type":"result"`))
  return results.filter((record) => JSON.stringify(record).includes(unknownOutcome)).length
}

let restarts = 0
try {
  await until(
    async () => {
      const { status } = await ready()
      return status === 503
    },
    () => 'The worker does not begin.',
  )
  await cluster.register(worker)
  await until(
    async () => {
      const { status } = await ready()
      return status === 200
    },
    () => 'The worker is not ready.',
  )
  for (const session of sessions) prompt(session, 'go', { turns, toolMs })
  await until(
    () => paid().length > sessions.length * 6,
    () => 'Nothing is done.',
  )
  const client = programs.halting(['-p', '--resume', 's0', '--cluster', cluster.ingress(), '--admin', cluster.admin()])

  fill()
  // Logs of the engine have preallocated room, which it also fills.
  const filledAt = performance.now()
  const large = 'x'.repeat(3_000_000)
  let ballast = 0
  let brokenAt: number | undefined
  let answer = await ready()
  let longest = answer.tookMs
  while (answer.status === 200) {
    if (ballast < 80) prompt(`ballast${ballast++}`, large, { turns: 0 })
    if (brokenAt === undefined && readFileSync(join(folder, 'n1.log'), 'utf8').includes('No space left on device'))
      brokenAt = performance.now()
    answer = await ready()
    longest = Math.max(longest, answer.tookMs)
    demand(
      performance.now() - (brokenAt ?? filledAt) < 40_000,
      `The worker is ready on a full disk: ${ballast} prompts`,
    )
    await wait(100)
  }
  const noticedMs = performance.now() - (brokenAt ?? performance.now())
  demand(noticedMs < maxBefore, `It took ${noticedMs} ms until /ready was false`)
  const health = await fetch(`${cluster.admin()}/health`)
  const disabled = await isDisabled()
  demand(disabled === (what === 'log'), `The log of the engine is ${disabled ? '' : 'not '}disabled.`)
  console.log(
    `kept: /ready is 503 ${(noticedMs / 1_000).toFixed(1)} s after the first write failed: ${answer.because}. The engine's own health answers ${health.status}; its log is ${disabled ? 'disabled until it is started again' : 'waiting for room'}`,
  )
  await wait(4_000)
  const before = paid().length
  for (let left = 5; left > 0; left--) {
    const { tookMs, status } = await ready()
    longest = Math.max(longest, tookMs)
    demand(status === 503, 'The worker says that it is ready, on a full disk.')
  }
  demand(longest < 4_500, `/ready took ${longest} ms`)
  demand(!client.isGone, `A client gave up on a full disk: ${client.output}`)
  console.log(
    `kept: /ready is answered within ${(longest / 1_000).toFixed(1)} s; ${paid().length - before} effects began meanwhile; the client waits`,
  )

  rmSync(join(disk, 'ballast'))
  execFileSync('mount', ['-o', `remount,size=${size.roomy}`, disk], { stdio: 'pipe' })
  const roomAt = performance.now()
  for (;;) {
    if ((await isDisabled()) && freeMb() > 128) {
      restarts++
      await cluster.kill()
      await cluster.ready()
    }
    const { status, because } = await ready()
    if (status === 200) break
    demand(performance.now() - roomAt < 180_000, `With room, it does not go on: ${because}`)
    await wait(500)
  }
  const backMs = performance.now() - roomAt
  console.log(
    `kept: ready ${(backMs / 1_000).toFixed(1)} s after there was room, ${restarts === 0 ? 'by itself' : `by ${restarts} restart of the engine`}`,
  )
  for (const session of sessions)
    await until(
      async () => {
        const { state } = await statusOf(session)
        return state === 'idle'
      },
      () => `${session} does not end.`,
    )
  const endings = await Promise.all(sessions.map(async (session) => (await statusOf(session)).reason))
  demand(
    endings.every((reason) => reason === 'completed'),
    `They ended so: ${endings.join(', ')}`,
  )
  const made = paid()
  const all = sessions.length * turns * 2
  demand(new Set(made).size === made.length, `Of ${made.length} effects ${new Set(made).size} are different.`)
  const unknown = await Promise.all(sessions.map(unknownIn))
  const unknownCalls = unknown.reduce((sum, each) => sum + each, 0)
  demand(
    made.length + unknownCalls >= all,
    `Of ${all} calls ${made.length} were made, and ${unknownCalls} are reported as unknown.`,
  )
  const ending = await client.ended()
  demand(ending === 0, `The client ended with ${ending}: ${client.output}`)
  console.log(
    `kept: ${sessions.length} sessions completed, ${made.length} of ${all} calls made, each once, the others reported as unknown (${unknownCalls}); the client that waited ended with 0`,
  )
} finally {
  child.kill('SIGKILL')
  await programs.end()
  await cluster.stop()
  execFileSync('umount', ['-l', disk])
}
process.exit(0)
