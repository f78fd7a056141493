// A hundred sessions of a tenant under a limit that is little more than their cost (R-FUND-1 to R-FUND-6), with the program: a request may cost many times what it
// does. Sessions wait for money that others have reserved, and none ends for lack of it; a worker is killed in the middle. Run by scripts/cluster.mjs: tenant-money.mjs SERVER
// FOLDER
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { BudgetStatus } from '../../src/fleet/budget-service.ts'
import { Balancer, demand, type Program, Programs, until } from './programs.ts'
import { Cluster, freePort, wait } from './server.ts'
import { SessionsOf } from './sessions-of.ts'

const [server = '', folder = ''] = process.argv.slice(2)
const programs = new Programs(folder)
const cluster = await Cluster.start(server, folder, 1)
const sessions = new SessionsOf(cluster)
const count = 100

// With the prices of the model, a request costs $0.00375, and a session has two.
const usage = { input_tokens: 450, output_tokens: 100 }
const costUsd = count * 2 * 0.00375
const script = join(folder, 'script.json')
const call = (command: string) => [{ type: 'tool_use', name: 'Bash', input: { command } }]
writeFileSync(
  script,
  JSON.stringify({
    replies: [
      { when: 'Go.', content: call("sleep 0.2; echo 'did 0.'"), usage, pace_ms: 100 },
      { when: 'did 0.', content: 'All done.', usage, pace_ms: 100 },
      { when: 'The outcome of this call is unknown', content: 'One is unknown.', usage, pace_ms: 100 },
    ],
  }),
)
const ports = [await freePort(), await freePort()]
const address = await Balancer.start(ports)
const workers: (Program | undefined)[] = []

async function startWorker(port: number, slots: number): Promise<Program> {
  const where = ['--restate', cluster.ingress(), '--admin', cluster.admin(), '--register', address.url]
  const model = ['--script', script, '--model', 'gpt-4o-2024-05-13', '--small-model', 'off']
  const how = [
    '--permission-mode',
    'bypassPermissions',
    '--tools',
    'Bash',
    '--system-prompt',
    'Work.',
    '--verify-changes',
    'off',
  ]
  const worker = programs.halting([
    'serve',
    ...where,
    '--port',
    String(port),
    ...model,
    ...how,
    '--workspaces',
    join(folder, 'workspaces'),
    '--concurrency',
    String(slots),
    '--allowed-tenants',
    'free,wide,narrow,little',
  ])
  await worker.says('serving at')
  return worker
}

async function startWorkers(...slots: readonly number[]): Promise<void> {
  for (const worker of workers) await worker?.kill('SIGTERM')
  for (const [index, port] of ports.entries()) workers[index] = await startWorker(port, slots[index] ?? 1)
}

async function budgetOf(tenant: string): Promise<BudgetStatus> {
  // The answer of the object of a tenant.
  return (await cluster.call(`halting_budget/${tenant}/status`)) as BudgetStatus
}

/** Observations of a budget over time. */
class Watch {
  readonly #tenant: string
  readonly #limitUsd: number | null
  readonly #over = new AbortController()
  readonly #watching: Promise<void>
  readonly problems = new Set<string>()
  looks = 0
  maxWaiting = 0
  mostReservedUsd = 0

  constructor(tenant: string, limitUsd: number | null) {
    this.#tenant = tenant
    this.#limitUsd = limitUsd
    this.#watching = this.#watch()
  }

  async #watch(): Promise<void> {
    while (!this.#over.signal.aborted) {
      const { leasedUsd, settledUsd, reservedUsd, waiting } = await budgetOf(this.#tenant)
      this.looks++
      if (process.env['HALTING_SHOW'] === '1' && this.looks % 20 === 0)
        console.error(this.#tenant, JSON.stringify(await budgetOf(this.#tenant)))
      this.maxWaiting = Math.max(this.maxWaiting, waiting)
      this.mostReservedUsd = Math.max(this.mostReservedUsd, reservedUsd)
      const limit = this.#limitUsd ?? Infinity
      if (leasedUsd > limit || settledUsd > limit)
        this.problems.add(`$${leasedUsd} of $${limit} are leased, $${settledUsd} settled.`)
      await wait(100)
    }
  }

  async end(): Promise<void> {
    this.#over.abort()
    await this.#watching
  }
}

interface Course {
  readonly reasons: ReadonlyMap<string, readonly string[]>
  readonly seconds: number
  readonly watch: Watch
  readonly last: BudgetStatus
}

/** Runs all sessions of a tenant at once to their ends. `meanwhile` may disturb them. */
async function run(tenant: string, limitUsd: number | null, meanwhile?: () => Promise<void>): Promise<Course> {
  await cluster.call(`halting_budget/${tenant}/setLimit`, limitUsd)
  const watch = new Watch(tenant, limitUsd)
  const began = performance.now()
  const names = Array.from({ length: count }, (_, index) => `${tenant}-${index}`)
  const prompt = (name: string) =>
    cluster.call(`halting_session/${name}/request`, {
      id: `prompt-${name}`,
      request: { type: 'prompt', content: 'Go.' },
      opening: { tenant },
    })
  await Promise.all(names.map(prompt))
  await meanwhile?.()
  const reasons = new Map<string, readonly string[]>()
  for (const name of names) {
    await cluster.call(`halting_session/${name}/result`, { id: `prompt-${name}`, wait: true }).catch(() => undefined)
    let last = await sessions.status(name)
    await until(
      async () => (last = await sessions.status(name)).state === 'idle' && last.reason !== undefined,
      () => `${name} does not end: ${JSON.stringify(last)}`,
    )
    reasons.set(last.reason ?? '', [...(reasons.get(last.reason ?? '') ?? []), name])
  }
  const seconds = (performance.now() - began) / 1_000
  await until(
    async () => (await budgetOf(tenant)).holders === 0,
    () => `Somebody of ${tenant} holds a part when all is over.`,
  )
  await watch.end()
  const last = await budgetOf(tenant)
  demand(watch.problems.size === 0, [...watch.problems].join(' '))
  demand(last.reservedUsd === 0 && last.waiting === 0, `At the end ${tenant} has ${JSON.stringify(last)}.`)
  return { reasons, seconds, watch, last }
}

const summaryOf = ({ reasons, seconds, watch, last }: Course): string =>
  `${[...reasons].map(([reason, names]) => `${names.length} ${reason}`).join(', ')} in ${seconds.toFixed(1)} s; $${last.settledUsd.toFixed(4)} settled, $${last.unknownUsd.toFixed(4)} of it at worst case; at most ${watch.maxWaiting} waited, at most $${watch.mostReservedUsd.toFixed(2)} reserved, ${watch.looks} looks`

/** While few requests are open, the unknown part is small. */
async function killOne(tenant: string): Promise<void> {
  await until(
    async () => {
      const { settledUsd, reservedUsd } = await budgetOf(tenant)
      return settledUsd > 0.2 && reservedUsd < 0.2
    },
    () => 'There is no moment to kill a worker.',
  )
  await workers[0]?.kill()
  workers[0] = undefined
}

try {
  await startWorkers(16, 16)
  const free = await run('free', null)
  demand(free.reasons.get('completed')?.length === count, `Without a limit: ${summaryOf(free)}.`)
  console.log(`kept: without a limit, 32 slots: ${summaryOf(free)}`)
  demand(Math.abs(free.last.settledUsd - costUsd) < 1e-9, `They cost $${free.last.settledUsd}, and not $${costUsd}.`)

  const wide = await run('wide', 1)
  demand(wide.reasons.get('completed')?.length === count, `Under $1: ${summaryOf(wide)}.`)
  demand(wide.watch.maxWaiting > 0, 'Nobody waited.')
  console.log(`kept: under $1, 32 slots: ${summaryOf(wide)}, ${(wide.seconds / free.seconds).toFixed(2)} times as long`)

  await startWorkers(8, 8)
  const narrow = await run('narrow', 1, () => killOne('narrow'))
  demand(narrow.reasons.get('completed')?.length === count, `Under $1 with a killed worker: ${summaryOf(narrow)}.`)
  console.log(`kept: under $1, 16 slots, a worker killed and not started again: ${summaryOf(narrow)}`)

  const little = await run('little', 0.3)
  const ended = little.reasons.get('max_budget_usd') ?? []
  demand(
    ended.length > 0 && ended.length + (little.reasons.get('completed')?.length ?? 0) === count,
    `Under $0.30: ${summaryOf(little)}.`,
  )
  const whys: string[] = []
  for (const name of ended) {
    const { result } = (await cluster.call(`halting_session/${name}/result`, { id: `prompt-${name}` })) as {
      readonly result?: { readonly errors?: readonly string[] }
    }
    whys.push(String(result?.errors?.[0]))
  }
  const reserved = whys.filter((why) => / is reserved by \d+ other session| of it is reserved by/.test(why))
  // If others have nothing reserved any more, there is nothing to report.
  demand(
    whys.every((why) => why.includes('of the budget of little')),
    `Some do not say why they ended: ${JSON.stringify(whys)}`,
  )
  console.log(
    `kept: under $0.30: ${summaryOf(little)}; ${reserved.length} say what others had reserved: ${reserved[0] ?? 'none'}; ${whys.length - reserved.length} that others had nothing: ${whys.find((why) => !reserved.includes(why)) ?? 'none'}`,
  )
} catch (error) {
  console.error(String(error))
  for (const tenant of ['wide', 'narrow', 'little'])
    console.error(
      JSON.stringify([
        await budgetOf(tenant),
        await cluster.call(`halting_budget/${tenant}/holders`),
        await cluster.call(`halting_budget/${tenant}/waiters`),
      ]).slice(0, 3_000),
    )
  console.error(JSON.stringify(await cluster.unfinished()).slice(0, 3_000))
  for (const worker of workers) console.error(worker?.output.slice(-1_500))
  process.exitCode = 1
} finally {
  await programs.end()
  address.stop()
  await cluster.stop()
}
process.exit()
