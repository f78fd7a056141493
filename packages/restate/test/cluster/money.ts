// Money, gates and a bucket, with the program (R-WORK-9 to R-WORK-11): two workers of a tenant behind one gate, of which one is killed. Run by scripts/cluster.mjs:
// money.mjs SERVER FOLDER S3, where S3 is the module s3rver
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { BudgetStatus } from '../../src/fleet/budget-service.ts'
import type { GateStatus } from '../../src/fleet/gate-service.ts'
import { Balancer, demand, type Program, Programs, until } from './programs.ts'
import { Cluster, freePort, wait } from './server.ts'
import { SessionsOf } from './sessions-of.ts'

interface RunningServer {
  run(): Promise<void>
  close(): Promise<void>
}

const [server = '', folder = '', s3 = ''] = process.argv.slice(2)
const programs = new Programs(folder)
const cluster = await Cluster.start(server, folder, 1)
const sessions = new SessionsOf(cluster)
const maxAtOnce = 2
const limitUsd = 2

const bucketFolder = join(folder, 'bucket')
const bucketPort = await freePort()
// It has no types.
const { default: S3rver } = (await import(s3)) as { default: new (options: object) => RunningServer }
const configureBuckets = [{ name: 'large' }]
const bucket = new S3rver({
  port: bucketPort,
  address: '127.0.0.1',
  silent: true,
  directory: bucketFolder,
  configureBuckets,
})
await bucket.run()
const env = {
  AWS_ACCESS_KEY_ID: 'S3RVER',
  AWS_SECRET_ACCESS_KEY: 'S3RVER',
  AWS_ENDPOINT_URL: `http://127.0.0.1:${bucketPort}`,
  HALTING_WORKER_TOKEN: 'of-the-worker',
}

const usage = { input_tokens: 3_000, output_tokens: 500 }
const script = join(folder, 'script.json')
const bash = (command: string) => [{ type: 'tool_use', name: 'Bash', input: { command } }]
writeFileSync(
  script,
  JSON.stringify({
    replies: [
      { when: 'Hang.', content: bash('sleep 300'), usage },
      { content: bash("env > env.txt; sleep 0.3; echo 'did 0.'"), usage, pace_ms: 40 },
      { when: 'did 0.', content: bash("sleep 0.3; echo 'did 1.'"), usage, pace_ms: 40 },
      { when: 'did 1.', content: 'All done.', usage, pace_ms: 40 },
      { when: 'The outcome of this call is unknown', content: 'One is unknown.', usage },
    ],
  }),
)
const ports = [await freePort(), await freePort()]
const address = await Balancer.start(ports)
const workspaces = join(folder, 'workspaces')

async function startWorker(port: number): Promise<Program> {
  const where = ['--restate', cluster.ingress(), '--admin', cluster.admin(), '--register', address.url]
  const how = [
    '--script',
    script,
    '--model',
    'claude-haiku-4-5',
    '--permission-mode',
    'bypassPermissions',
    '--workspaces',
    workspaces,
  ]
  const money = ['--tenant', 'acme', '--allowed-tenants', 'b,__proto__', '--max-concurrent-requests', String(maxAtOnce)]
  const worker = programs.halting(
    ['serve', ...where, '--port', String(port), ...how, ...money, '--payloads', 's3://large/of/halting'],
    { env },
  )
  await worker.says('serving at')
  return worker
}

const budgetOf = async (tenant: string): Promise<BudgetStatus> =>
  // The output of the program.
  JSON.parse(
    await programs.run(['cluster', 'budget', tenant, '--cluster', cluster.ingress(), '--json']),
  ) as BudgetStatus
const prompt = (session: string, opening: object, content = 'Go.') =>
  cluster.call(`halting_session/${session}/request`, {
    id: `prompt-${session}`,
    request: { type: 'prompt', content },
    opening,
  })
async function reasonOf(session: string): Promise<string> {
  let last = await sessions.status(session)
  const done = (await cluster.call(`halting_session/${session}/result`, { id: `prompt-${session}`, wait: true })) as {
    readonly state: string
  }
  demand(done.state === 'answered', `${session} has no answer: ${JSON.stringify(done)}`)
  await until(
    async () => (last = await sessions.status(session)).state === 'idle' && last.reason !== undefined,
    () => `${session} does not end: ${JSON.stringify(last)}`,
  )
  return last.reason ?? ''
}
const objects = (): readonly string[] =>
  readdirSync(bucketFolder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /[0-9a-f]{64}._S3rver_object$/.test(name),
  )

async function gates(): Promise<readonly string[]> {
  const query = "select distinct service_key from state where service_name = 'halting_gate'"
  return (await queried<{ readonly service_key: string }>(query)).map((row) => row.service_key)
}

async function queried<Row>(query: string): Promise<readonly Row[]> {
  const response = await fetch(`${cluster.admin()}/query`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify({ query }),
  })
  // Rows of the engine's own.
  return ((await response.json()) as { readonly rows: readonly Row[] }).rows
}

/** The first of the sessions that reached its end. */
function firstOf(ended: ReadonlyMap<string, readonly string[]>): string {
  return ended.get('completed')?.[0] ?? ''
}

function committedOf(done: unknown): number {
  // The answer of the object of a session.
  return (done as { readonly committedNanos: number }).committedNanos
}

/** As an operator does with an invocation that is beyond repair: the engine forgets it, and nobody is notified. */
async function killWork(session: string): Promise<void> {
  const query = `select id from sys_invocation where target_service_name = 'halting_session' and target_service_key = '${session}' and target_handler_name = 'work'`
  const [row] = await queried<{ readonly id: string }>(query)
  const response = await fetch(`${cluster.admin()}/invocations/${row?.id}/kill`, { method: 'PATCH' })
  demand(response.ok, `The engine does not kill it: ${response.status} ${await response.text()}`)
}

const workers: (Program | undefined)[] = []
try {
  for (const port of ports) workers.push(await startWorker(port))
  const set = ['cluster', 'budget', 'acme', '--max-budget-usd', String(limitUsd), '--cluster', cluster.ingress()]
  demand((await programs.run(set)).includes('$2.00 total'), 'The limit is not shown.')

  // A session does not spend from the budget of another tenant.
  await prompt('thief', { tenant: 'others' })
  const refused = (await cluster.call('halting_session/thief/result', { id: 'prompt-thief', wait: true })) as {
    readonly state: string
    readonly because?: string
  }
  demand(
    refused.state === 'refused' && refused.because?.includes('the tenant others') === true,
    `A session of another tenant is ${JSON.stringify(refused)}.`,
  )
  demand((await budgetOf('others')).leasedUsd === 0, 'Something was spent from the budget of others.')

  // Twelve sessions, with money for only some at a time; one worker is killed in the middle.
  const names = Array.from({ length: 12 }, (_, index) => `s${index}`)
  await Promise.all(names.map((name) => prompt(name, {})))
  let maxInside = 0
  const over = new AbortController()
  const watching = (async () => {
    while (!over.signal.aborted) {
      const [gate] = await gates()
      // The answer of the gate.
      const status =
        gate === undefined ? undefined : ((await cluster.call(`halting_gate/${gate}/status`)) as GateStatus)
      maxInside = Math.max(maxInside, status?.inside ?? 0)
      await wait(50)
    }
  })().catch((error: unknown) => demand(over.signal.aborted, String(error)))
  await until(
    async () => (await budgetOf('acme')).holders > 0,
    () => 'Nobody holds a part.',
  )
  await wait(1_500)
  await workers[0]?.kill()
  const during = await budgetOf('acme')
  workers[0] = await startWorker(ports[0] ?? 0)
  const reasons = new Map<string, readonly string[]>()
  for (const name of names) {
    const reason = await reasonOf(name)
    reasons.set(reason, [...(reasons.get(reason) ?? []), name])
  }
  await until(
    async () => (await budgetOf('acme')).holders === 0,
    () => 'Somebody holds a part when all is over.',
  )
  over.abort()
  await watching
  const acme = await budgetOf('acme')
  demand(
    [...reasons.keys()].every((reason) => ['completed', 'max_budget_usd'].includes(reason)) && reasons.has('completed'),
    `They ended as ${JSON.stringify([...reasons])}.`,
  )
  for (const { leasedUsd } of [during, acme]) demand(leasedUsd <= limitUsd, `$${leasedUsd} of $${limitUsd} are leased.`)
  demand(acme.reservedUsd === 0 && acme.settledUsd > 0, `At the end the tenant has ${JSON.stringify(acme)}.`)
  const found = await gates()
  demand(found.length === 1 && /^scripted-[0-9a-f]{16}$/.test(found[0] ?? ''), `The gates are ${found.join(', ')}.`)
  demand(maxInside <= maxAtOnce && maxInside > 0, `${maxInside} were inside at once.`)
  const gate = (await cluster.call(`halting_gate/${found[0]}/status`)) as GateStatus
  demand(gate.inside === 0 && gate.waiting === 0, `At the gate is ${JSON.stringify(gate)}.`)

  // A fork is charged for its own spending, and a session removed in the middle holds no lease.
  await cluster.call(`halting_session/${firstOf(reasons)}/fork`, { as: 'copy' })
  await cluster.call('halting_budget/acme/setLimit', 50)
  await prompt('copy', {})
  await reasonOf('copy')
  const origin = committedOf(await cluster.call(`halting_session/${firstOf(reasons)}/done`))
  const own = committedOf(await cluster.call('halting_session/copy/done')) - origin
  await until(
    async () => (await budgetOf('acme')).holders === 0,
    () => 'The copy holds its part.',
  )
  const added = Math.round(((await budgetOf('acme')).settledUsd - acme.settledUsd) * 1e9)
  demand(
    own > 0 && added === own,
    `The copy spent ${own}, and the tenant was charged ${added}; its origin had ${origin}.`,
  )
  await prompt('stuck', { tenant: 'b' }, 'Hang.')
  await until(
    async () => (await sessions.status('stuck')).turns > 0 || (await sessions.records('stuck')).includes('sleep 300'),
    () => 'The session that hangs does not begin.',
  )
  // While a tool runs, nothing is reserved: the unspent part of a request was returned.
  let budget = await budgetOf('b')
  await until(
    async () => (budget = await budgetOf('b')).holders === 1 && budget.settledUsd > 0 && budget.reservedUsd === 0,
    () => `The tenant of a session at work has ${JSON.stringify(budget)}.`,
  )
  await killWork('stuck')
  await cluster.call('halting_session/stuck/remove')
  const left = await budgetOf('b')
  demand(
    left.holders === 0 && left.reservedUsd === 0 && left.settledUsd > 0 && left.settledUsd <= budget.leasedUsd,
    `After its session was removed the tenant has ${JSON.stringify(left)}.`,
  )

  // A tenant that openings may name, whatever its name; large data is in the bucket and is removed with the session.
  await prompt('large', { tenant: '__proto__' }, `Go. ${'x'.repeat(300_000)}`)
  const large = await reasonOf('large')
  const storedObjects = objects()
  demand(
    storedObjects.length > 0 && storedObjects.every((name) => name.includes('of/halting/large')),
    `The bucket has ${storedObjects.join(', ')}.`,
  )
  const proto = await budgetOf('__proto__')
  demand(proto.settledUsd > 0 && proto.holders === 0, `The tenant of the opening has ${JSON.stringify(proto)}.`)
  await cluster.call('halting_session/large/remove')
  demand(objects().length === 0, `After it was removed the bucket has ${objects().join(', ')}.`)
  demand((await budgetOf('__proto__')).settledUsd === proto.settledUsd, 'What a removed session spent is not settled.')
  // A session without money ran nothing.
  const written = names.map((name) => join(workspaces, name, 'env.txt')).filter((path) => existsSync(path))
  const seen = written.map((path) => readFileSync(path, 'utf8'))
  demand(
    seen.length > 0 &&
      seen.every((text) => text.includes('PATH=') && !/AWS_ACCESS|AWS_SECRET|of-the-worker/.test(text)),
    'A command sees what is the worker’s own.',
  )
  console.log(
    `${[...reasons].map(([reason, count]) => `${count.length} ${reason}`).join(', ')}; $${acme.settledUsd.toFixed(4)} settled of $${limitUsd}, $${acme.unknownUsd.toFixed(4)} at worst case; ${maxInside} at once at most of ${maxAtOnce}, ${gate.admitted} let in, ${gate.expired} given up; ${storedObjects.length} in the bucket, ${large}`,
  )
} catch (error) {
  console.error(String(error))
  for (const worker of workers) console.error(worker?.output.slice(-1_500))
  process.exitCode = 1
} finally {
  await programs.end()
  address.stop()
  await cluster.stop()
  await bucket.close()
}
process.exit()
