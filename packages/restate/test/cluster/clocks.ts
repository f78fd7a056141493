// Workers whose clocks are an hour ahead, an hour behind and right: sessions wait for a service, spend from a budget, pass a gate and move from
// one worker to another (R-OPER-6). Run by scripts/cluster.mjs: clocks.js SERVER FOLDER
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { startScriptedServer } from '@halting/models/scripted'
import { Balancer, demand, type Program, Programs, until } from './programs.ts'
import { Cluster, freePort, wait } from './server.ts'
import { linesOf, SessionsOf, unknownOutcome } from './sessions-of.ts'

const [server = '', folder = ''] = process.argv.slice(2)
const programs = new Programs(folder)
const cluster = await Cluster.start(server, folder, 1)
const sessions = new SessionsOf(cluster)
const effects = join(folder, 'effects.txt')
const names = Array.from({ length: 8 }, (_, index) => `s${index}`)
const [turns, limitedMs] = [12, 15_000]
const hourMs = 3_600_000

/** Shifts the wall clock of a process that loads it by this much, as if a person had set it. */
function shifted(byMs: number): string {
  const path = join(folder, `clock${byMs}.mjs`)
  writeFileSync(
    path,
    `const Right = Date
const right = Date.now
globalThis.Date = class Date extends Right {
  constructor(...given) {
    super(...(given.length === 0 ? [right() + ${byMs}] : given))
  }
  static now() {
    return right() + ${byMs}
  }
}
`,
  )
  return `--import=${pathToFileURL(path).href}`
}

const command = (turn: number): string =>
  `echo "\${PWD##*/} $PPID ${turn}" >> '${effects}'; sleep 0.4; echo 'did ${turn}.'`
const usage = { input_tokens: 2_000, output_tokens: 200 }
const service = await startScriptedServer({
  replies: [
    { when: 'Go.', error: { status: 429, for_ms: limitedMs, headers: { 'retry-after': '{{seconds_left}}' } } },
    ...Array.from({ length: turns }, (_, turn) => ({
      when: turn === 0 ? 'Go.' : `did ${turn - 1}.`,
      content: [{ type: 'tool_use', name: 'Bash', input: { command: command(turn) } }],
      usage,
      repeat: 100,
    })),
    { when: `did ${turns - 1}.`, content: 'All done.', usage, repeat: 100 },
    { when: unknownOutcome, content: 'One is unknown.', usage, repeat: 100 },
  ],
})

interface Shifted {
  readonly port: number
  readonly byMs: number
  program: Program
}

const workers: Shifted[] = []
const ports = [await freePort(), await freePort(), await freePort()]
const address = await Balancer.start(ports)

async function started(port: number, byMs: number): Promise<Program> {
  const where = ['--restate', cluster.ingress(), '--admin', cluster.admin(), '--register', address.url]
  const limits = ['--wait-for-limits', '5m', '--max-duration', '3m', '--max-budget-usd', '2', '--max-turns', '60']
  const how = ['--permission-mode', 'bypassPermissions', '--grace', '2s', '--log-format', 'json']
  const shared = ['--tenant', 'acme', '--max-concurrent-requests', '6', '--tokens-per-minute', '900k']
  const program = programs.halting(['serve', ...where, '--port', String(port), ...limits, ...shared, ...how], {
    env: {
      ANTHROPIC_API_KEY: 'k',
      ANTHROPIC_BASE_URL: service.url,
      ANTHROPIC_MODEL: 'claude-sonnet-5-5',
      ...(byMs !== 0 && { NODE_OPTIONS: shifted(byMs) }),
    },
  })
  await program.says('serving at')
  return program
}

const made = (): readonly string[] =>
  linesOf(effects).map((line) => {
    const [session, , turn] = line.split(' ')
    return `${session} ${turn}`
  })
const workersOf = (session: string): number =>
  new Set(
    linesOf(effects)
      .filter((line) => line.startsWith(`${session} `))
      .map((line) => line.split(' ')[1]),
  ).size

try {
  for (const [at, byMs] of [hourMs, -hourMs, 0].entries())
    workers.push({ port: ports[at] ?? 0, byMs, program: await started(ports[at] ?? 0, byMs) })
  const [ahead, behind, right] = workers
  demand(ahead !== undefined && behind !== undefined && right !== undefined, 'There are three workers.')
  await programs.run(['cluster', 'budget', 'acme', '--max-budget-usd', '10', '--cluster', cluster.ingress()])
  const beganAt = Date.now()
  await Promise.all(names.map((name) => sessions.prompt(name)))
  await until(
    async () => {
      const statuses = await Promise.all(names.map((name) => sessions.status(name)))
      return statuses.some(({ waits }) => (waits?.length ?? 0) > 0)
    },
    () => 'No session waits for the service.',
  )
  await wait(2_000)
  // Sessions that wait at the worker whose clock is ahead continue elsewhere.
  await ahead.program.kill('SIGKILL')
  const killedAt = Date.now()
  await until(
    () => new Set(made().map((line) => line.split(' ')[0])).size === names.length,
    () => `After ${Date.now() - killedAt} ms these have begun: ${made().join(', ')}`,
  )
  const waitedMs = Date.now() - beganAt
  demand(waitedMs > limitedMs - 1_000 && waitedMs < limitedMs + 30_000, `They waited for ${waitedMs} ms.`)
  console.log(
    `kept: ${names.length} sessions wait ${(waitedMs / 1_000).toFixed(1)} s for a service that is limited for ${limitedMs / 1_000} s, whatever the clocks of their workers`,
  )
  ahead.program = await started(ahead.port, ahead.byMs)
  await right.program.kill('SIGTERM')
  await wait(2_000)
  right.program = await started(right.port, right.byMs)
  await behind.program.kill('SIGTERM')
  for (const name of names) await sessions.over(name)
  const endedAt = Date.now()
  const all = made()
  demand(new Set(all).size === all.length, `Of ${all.length} effects ${new Set(all).size} are different.`)
  let unknown = 0
  for (const name of names) if ((await sessions.records(name)).includes(unknownOutcome)) unknown++
  demand(unknown > 0 || all.length === names.length * turns, `${all.length} effects of ${names.length * turns}`)
  const moved = names.filter((name) => workersOf(name) > 1).length
  demand(moved > 0, 'No session has moved.')
  console.log(
    `kept: ${all.length} commands of ${names.length * turns}, each once, ${unknown} sessions with one whose outcome is unknown; ${moved} sessions moved between workers of other clocks, and all completed`,
  )
  for (const name of names) {
    const { beganMs = 0, changedMs = 0 } = await sessions.status(name)
    demand(
      beganMs > beganAt - 5_000 && changedMs < endedAt + 5_000 && beganMs <= changedMs + 5_000,
      `${name} began ${beganMs - beganAt} ms and changed ${changedMs - endedAt} ms off`,
    )
  }
  console.log('kept: the times that are stored with sessions are those of the engine')
  const budget = await programs.run(['cluster', 'budget', 'acme', '--cluster', cluster.ingress()])
  demand(/reserved\s+\$0\.0+\b/.test(budget), `Something stays reserved: ${budget}`)
  demand(
    ahead.program.output.includes("ahead of the engine's") && !right.program.output.includes("the engine's. Sessions"),
    `A wrong clock is not reported: ${ahead.program.output}`,
  )
  const metrics = await fetch(`http://127.0.0.1:${ahead.port}/metrics`)
  const text = await metrics.text()
  demand(
    metrics.ok && /^halting_worker_ready 1$/m.test(text) && /^halting_endings_total\{.*\} \d+$/m.test(text),
    `The metrics are so: ${text}`,
  )
  const lines = ahead.program.output.split('\n').filter((line) => line.startsWith('{'))
  for (const line of lines) JSON.parse(line)
  console.log(
    `kept: nothing of the budget stays reserved; wrong clocks are reported; ${lines.length} lines of JSON, and metrics`,
  )
} catch (error) {
  for (const name of names) console.error(name, JSON.stringify(await sessions.status(name)))
  for (const row of await cluster.unfinished()) console.error(JSON.stringify(row))
  for (const { byMs, program } of workers) console.error(byMs, program.output.slice(-6_000))
  throw error
} finally {
  await programs.end()
  address.stop()
  await service.close()
  await cluster.stop()
}
process.exit(0)
