// Money and gates of a fleet on a real engine: fleet.mjs SERVER FOLDER. Thirty sessions of one tenant on two workers, with a budget for about half of
// them; workers are killed. The charges of the service never exceed the limit, and concurrent requests never exceed that of the gate.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { BudgetStatus } from '../../src/fleet/budget-service.ts'
import type { GateStatus } from '../../src/fleet/gate-service.ts'
import type { SessionStatus } from '../../src/service/status.ts'
import type { WorkDone } from '../../src/service/session-object.ts'
import { Cluster, wait } from './server.ts'
import { Workers } from './workers.ts'

const [program = '', folder = ''] = process.argv.slice(2)
const sessions = Array.from({ length: 30 }, (_, index) => `s${index}`)
const turns = 4
const maxAtOnce = 3
const kills = 3
const usage = { input_tokens: 900, output_tokens: 100, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 }
const chargeNanos = 1_000_000
/** Requests of a session: its turns, the answer, and two agents. */
const requestsOfAll = sessions.length * (turns + 1 + 2)
const limitUsd = (requestsOfAll * chargeNanos) / 2 / 1e9

const problems: string[] = []
function check(holds: boolean, problem: () => string): void {
  if (!holds) problems.push(problem())
}

let inside = 0
let maxInside = 0
let asked = 0
const service = createServer((request, response) => {
  maxInside = Math.max(maxInside, ++inside)
  // It is charged on arrival.
  asked++
  response.on('close', () => inside--)
  request.resume()
  setTimeout(() => response.end(JSON.stringify(usage)), 150)
})
await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve))
// It listens on a port.
const { port } = service.address() as AddressInfo

const cluster = await Cluster.start(program, folder, 1)
const workers = await Workers.start(
  {
    program: fileURLToPath(new URL('fleet-worker.mjs', import.meta.url)),
    given: [cluster.ingress(), `http://127.0.0.1:${port}`],
    logFile: join(folder, 'workers.log'),
  },
  2,
)
await cluster.register(workers.url)

async function call<T>(path: string, body?: unknown): Promise<T> {
  const response = await fetch(`${cluster.ingress()}/${path}`, {
    method: 'POST',
    ...(body !== undefined && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`)
  // The caller knows what the handler returns.
  return (text === '' ? undefined : JSON.parse(text)) as T
}

const statusOf = (session: string): Promise<SessionStatus> => call(`halting_session/${session}/status`)
const budget = (): Promise<BudgetStatus> => call('halting_budget/acme/status')

/** Waits until all sessions have ended and no worker is at work. */
async function settled(isOver: (status: SessionStatus) => boolean): Promise<readonly SessionStatus[]> {
  for (;;) {
    const all = await Promise.all(sessions.map(statusOf))
    if (all.every(isOver) && (await budget()).holders === 0) return all
    await wait(500)
  }
}

await call('halting_budget/acme/setLimit', limitUsd)
await call('halting_gate/key/setLimits', { requests: maxAtOnce })
const opening = { tenant: 'acme', turns }
for (const session of sessions)
  await call(`halting_session/${session}/request`, { id: 'go', opening, request: { type: 'prompt', content: 'go' } })
const isNobodyInside = (): boolean => inside === 0
let killed = 0
const killing = (async () => {
  for (; killed < kills; killed++) {
    while (isNobodyInside()) await wait(5)
    await wait(100)
    const [worker] = workers.ready
    if (worker !== undefined) await workers.kill(worker)
    while (workers.ready.length < 2) await wait(50)
  }
})()

const ended = await settled(({ state, reason }) => state === 'idle' && reason !== undefined)
const charged = asked * chargeNanos
const limitNanos = Math.floor(limitUsd * 1e9)
check(charged <= limitNanos, () => `${charged} nano-dollars were charged, and the limit is ${limitNanos}`)
const reasons = new Map<string, number>()
for (const { reason = '' } of ended) reasons.set(reason, (reasons.get(reason) ?? 0) + 1)
check(
  [...reasons.keys()].every((reason) => ['completed', 'max_budget_usd'].includes(reason)),
  () => `they ended as ${countsText(reasons)}`,
)
check(
  reasons.has('max_budget_usd'),
  () => `the budget was to be too little for all, and they ended as ${countsText(reasons)}`,
)
let committed = 0
for (const [index, session] of sessions.entries()) {
  const done = await call<WorkDone>(`halting_session/${session}/done`)
  committed += done.committedNanos ?? 0
  const result = done.results.at(-1)
  const says = result === undefined || !('errors' in result) ? '' : String(result.errors)
  check(
    ended[index]?.reason === 'completed' || says.includes('the budget of acme'),
    () => `${session} ended with: ${says}`,
  )
}
const before = await budget()
check(
  committed === Math.round(before.leasedUsd * 1e9),
  () => `sessions spent ${committed}, and the tenant has ${before.leasedUsd}`,
)
check(committed >= limitNanos * 0.9, () => `they ended for money, and had ${committed} of ${limitNanos}`)
check(committed >= charged, () => `sessions know of ${committed}, and ${charged} were charged`)

// Sessions that were stopped continue when there is money again.
await killing
await call('halting_budget/acme/setLimit', null)
for (const [index, session] of sessions.entries())
  if (ended[index]?.reason === 'max_budget_usd')
    await call(`halting_session/${session}/request`, { id: 'on', request: { type: 'resume' } })
const atLast = await settled(({ state, reason }) => state === 'idle' && reason === 'completed')
check(atLast.length === sessions.length, () => 'not all went on')
check(maxInside <= maxAtOnce, () => `${maxInside} requests were there at once`)
const gate = await call<GateStatus>('halting_gate/key/status')
check(gate.inside === 0 && gate.waiting === 0, () => `at the gate is ${JSON.stringify(gate)}`)

function countsText(counts: ReadonlyMap<string, number>): string {
  return [...counts].map(([name, count]) => `${count} ${name}`).join(', ')
}

for (const problem of problems) console.error(problem)
console.log(
  `${countsText(reasons)}; $${charged / 1e9} of $${limitUsd} charged and $${committed / 1e9} accounted for, ${maxInside} requests at once at most of ${maxAtOnce}; ${killed} workers killed, ${gate.admitted} let in, ${gate.expired} given up`,
)
await workers.stop()
await cluster.stop()
process.exit(problems.length === 0 ? 0 : 1)
