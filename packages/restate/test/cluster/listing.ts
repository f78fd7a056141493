// The list of many sessions, and other commands of the program on sessions of a cluster, on a real node (R-LIST-2 to R-LIST-8). Run by scripts/cluster.mjs:
// listing.mjs SERVER FOLDER
import { existsSync } from 'node:fs'
import { createServer, connect } from 'node:net'
import { join } from 'node:path'
import type { SessionStatus } from '../../src/service/status.ts'
import { Programs, until } from './programs.ts'
import { Cluster, freePort } from './server.ts'
import { SessionsOf, writeScript } from './sessions-of.ts'

const [server = '', folder = ''] = process.argv.slice(2)
/** Number of finished sessions, besides those that do something. */
const many = 2_000
const programs = new Programs(folder)
const cluster = await Cluster.start(server, folder, 1)
const sessions = new SessionsOf(cluster)
const problems: string[] = []
const dayMs = 86_400_000
const now = Date.now()

function expect(holds: boolean, promise: string): void {
  console.log(`${holds ? 'kept' : 'BROKEN'}: ${promise}`)
  if (!holds) problems.push(promise)
}

/** A proxy in front of the admin API that counts its answers. */
async function counting(port: number): Promise<{ readonly url: string; taken(): number; close(): void }> {
  let bytes = 0
  const proxy = createServer((socket) => {
    const other = connect({ port, host: '127.0.0.1' })
    other.on('data', (data) => (bytes += data.length))
    for (const each of [socket, other]) each.on('error', () => {})
    socket.pipe(other).pipe(socket)
  })
  const own = await freePort()
  await new Promise<void>((resolve) => proxy.listen(own, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${own}`,
    taken() {
      const taken = bytes
      bytes = 0
      return taken
    },
    close: () => void proxy.close(),
  }
}

/** Finished sessions, as a worker would have left them: `over-0` changed last. */
async function fill(): Promise<void> {
  const put = async (at: number): Promise<void> => {
    const status: SessionStatus = {
      state: 'idle',
      runId: 'run1',
      reason: 'completed',
      turns: 3,
      usd: 0.01,
      tokens: 1_000,
      questions: [],
      records: 30,
      beganMs: now - at * dayMs - 5_000,
      changedMs: now - (at * dayMs) / 20,
      ...(at % 4 === 0 && { tenant: "o'acme" }),
    }
    const bytes = [...Buffer.from(JSON.stringify(status))]
    const response = await fetch(`${cluster.admin()}/services/halting_session/state`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ object_key: `over-${at}`, new_state: { status: bytes } }),
    })
    await response.arrayBuffer()
    if (!response.ok) throw new Error(`A state is answered with ${response.status}.`)
  }
  let next = 0
  const fillers = Array.from({ length: 16 }, async () => {
    while (next < many) await put(next++)
  })
  await Promise.all(fillers)
  await until(
    async () => {
      const [row] = await cluster.query("select count(*) as count from state where key = 'status'")
      return Number(row?.['count']) >= many
    },
    () => 'The sessions do not come in.',
  )
}

interface Page {
  readonly sessions: readonly (SessionStatus & { readonly sessionId: string })[]
  readonly total: number
  readonly nextCursor?: string
}

let where: readonly string[] = []

const listed = async (...more: readonly string[]): Promise<Page> =>
  // The program prints it so.
  JSON.parse(await programs.run(['sessions', ...where, '--json', ...more])) as Page

async function everyPage(limit: number): Promise<readonly Page[]> {
  const pages: Page[] = []
  let cursor: string | undefined
  do {
    const page = await listed('--limit', String(limit), ...(cursor === undefined ? [] : ['--cursor', cursor]))
    pages.push(page)
    cursor = page.nextCursor
  } while (cursor !== undefined)
  return pages
}

async function listing(count: Awaited<ReturnType<typeof counting>>): Promise<void> {
  count.taken()
  const begun = performance.now()
  const page = await listed()
  const tookMs = Math.round(performance.now() - begun)
  const bytes = count.taken()
  expect(
    page.sessions.length === 50 && page.total === many + 2 && bytes < 50_000,
    `a page of ${page.sessions.length} of ${page.total} sessions: ${tookMs} ms with the start of the program, ${bytes} bytes from the engine`,
  )
  const [first, second, third] = page.sessions
  expect(
    first?.state === 'requires_action' && second?.state === 'requires_action' && third?.sessionId === 'over-0',
    `what waits for a person comes first, and then what changed last: ${[first, second, third].map((each) => each?.sessionId).join(', ')}`,
  )
  const [question] = first?.questions ?? []
  expect(
    question?.toolName === 'Bash' && question.about?.startsWith('echo once') === true && first?.title === 'Go.',
    `a row says what is asked: ${question?.toolName} ${question?.about}`,
  )
  const pages = await everyPage(300)
  const ids = pages.flatMap((each) => each.sessions.map(({ sessionId }) => sessionId))
  const changes = pages.flatMap((each) => each.sessions.slice(0).map(({ changedMs = 0 }) => changedMs)).slice(2)
  expect(
    ids.length === many + 2 && new Set(ids).size === ids.length,
    `${pages.length} pages have each of ${ids.length} sessions once`,
  )
  expect(
    changes.every((changed, at) => at === 0 || changed <= (changes[at - 1] ?? 0)),
    'the pages are in the order of the last change',
  )
  const narrowed = await Promise.all([
    listed('--state', 'waiting'),
    listed('--state', 'idle', '--tenant', "o'acme"),
    listed('--older-than', '30d'),
    listed('--state', 'paused'),
  ])
  const totals = narrowed.map(({ total }) => total)
  const old = Array.from({ length: many }, (_, at) => at / 20).filter((days) => days > 30.5).length
  const [, , older = 0] = totals
  // Days begin at local midnight.
  const isOld = older >= old - 20 && older <= old + 20
  expect(
    totals[0] === 2 && totals[1] === many / 4 && isOld && totals[3] === 0,
    `filters: ${totals.join(', ')} sessions wait, are a tenant's, are older than 30 days, are paused`,
  )
}

/** The cost of the sessions page for the engine: for its list, and for one session. */
async function inspected(count: Awaited<ReturnType<typeof counting>>): Promise<void> {
  const first = await sessions.asks('asks-2')
  count.taken()
  const inspector = programs.halting(['inspect', ...where])
  await inspector.says('Ctrl-C')
  const url = /^http:\S+\//m.exec(inspector.output)?.[0] ?? ''
  const ask = async (path: string): Promise<string> => (await fetch(`${url}api/${path}`)).text()
  const lines = (await ask('sessions')).trim().split('\n')
  const ofList = count.taken()
  expect(
    lines.length === 201 && lines.at(-1) === JSON.stringify({ remaining: many + 2 - 200 }) && ofList < 100_000,
    `halting inspect lists ${lines.length - 1} sessions of ${many + 2}: ${ofList} bytes from the engine`,
  )
  const begun = performance.now()
  const view = await ask('session?key=asks-2')
  const parts = await ask('parts?key=asks-2&run=0&from=0&count=50')
  const tookMs = Math.round(performance.now() - begun)
  expect(
    view.includes('"why"') && parts.includes('echo once') && count.taken() < 100_000,
    `it opens a session by its records alone: ${tookMs} ms`,
  )
  await ask('more')
  const further = (await ask('sessions')).trim().split('\n').length - 1
  expect(further === 700, `more sessions are listed when somebody asks: ${further}`)
  await programs.run(['approve', 'asks-2', first, ...where])
  await sessions.over('asks-2')
  await until(
    async () => (await ask('session?key=asks-2')).includes('"completed"'),
    () => 'The page does not hear of the end.',
  )
  count.taken()
  const whole = await ask('parts?key=asks-2&run=0&from=0&count=50')
  const stored = await cluster.query("select key from state where service_key = 'asks-2' and key like 'text/%'")
  expect(
    stored.length > 0 && whole.includes('2999') && count.taken() > 0,
    'an output that is stored apart is read when somebody looks at it',
  )
  await inspector.kill('SIGINT')
}

async function oneSession(worker: string): Promise<void> {
  const replayed = await programs.run(['replay', 'asks-1', ...where])
  const file = join(folder, 'asks-1.jsonl')
  await programs.run(['sessions', 'export', 'asks-1', '--format', 'jsonl', '--output', file, ...where])
  const fromFile = await programs.run(['replay', file])
  expect(replayed === fromFile && replayed.includes('Bash'), 'a session of a cluster is replayed as its export is')
  const doctor = await programs.run(['doctor', ...where])
  expect(
    doctor.includes(`${worker} is ready; new sessions go there`) && doctor.includes('has the work of 1'),
    `halting doctor: ${doctor.trim().split('\n').at(-1)}`,
  )
  const refused = programs.halting(['sessions', 'delete', 'asks-1', '--yes', ...where])
  const status = await refused.ended()
  expect(status === 2 && refused.output.includes('waits for an answer'), 'one that waits for an answer is not deleted')
  const its = join(folder, 'files', 'asks-1')
  const hadFolder = existsSync(its)
  await programs.run(['sessions', 'delete', 'asks-1', '--yes', '--force', ...where])
  const left = await cluster.query("select key from state where service_key = 'asks-1'")
  expect(
    hadFolder && !existsSync(its) && left.length === 0,
    'with --force its work ends, and nothing of it is left: no state, no folder',
  )
}

const port = await freePort()
const count = await counting(Number(new URL(cluster.admin()).port))
try {
  where = ['--cluster', cluster.ingress(), '--admin', count.url]
  const script = writeScript(join(folder, 'script.json'), 'echo once > once.txt; seq 1 3000')
  const at = ['--restate', cluster.ingress(), '--admin', cluster.admin(), '--port', String(port), '--register']
  const worker = programs.halting(['serve', ...at, '--script', script, '--workspaces', join(folder, 'files')])
  await worker.says('serving at')
  await fill()
  for (const id of ['asks-1', 'asks-2']) {
    await sessions.prompt(id)
    await sessions.asks(id)
  }
  await listing(count)
  await inspected(count)
  await oneSession(`http://127.0.0.1:${port}`)
} finally {
  count.close()
  await programs.end()
  await cluster.stop()
}
if (problems.length > 0) {
  console.error(problems.map((problem) => `BROKEN: ${problem}`).join('\n'))
  process.exitCode = 1
}
