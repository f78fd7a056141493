// Tasks of operators, on a real node: a paused session, large records, and a worker that other machines reach. Run by scripts/cluster.mjs:
// operations.mjs SERVER FOLDER [RESTATE-CLI]
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { demand, type Program, Programs, until } from './programs.ts'
import { Cluster, freePort } from './server.ts'
import { linesOf, SessionsOf, unknownOutcome, writeScript } from './sessions-of.ts'

const [server = '', folder = '', cli = ''] = process.argv.slice(2)
const programs = new Programs(folder)
const cluster = await Cluster.start(server, folder, 1)
const sessions = new SessionsOf(cluster)
const effects = join(folder, 'effects.txt')
const slow = writeScript(join(folder, 'slow.json'), `echo once >> '${effects}'; sleep 60`)
const quick = join(folder, 'quick.json')
writeFileSync(quick, JSON.stringify({ replies: [{ content: 'Read.' }] }))
const port = await freePort()
const where = ['--cluster', cluster.ingress(), '--admin', cluster.admin()]

async function startWorker(script: string, more: readonly string[] = [], env = {}): Promise<Program> {
  const at = ['--restate', cluster.ingress(), '--admin', cluster.admin(), '--port', String(port)]
  const how = ['--script', script, '--permission-mode', 'bypassPermissions', '--workspaces', join(folder, 'files')]
  const register = more.includes('--register') ? [] : ['--register']
  const worker = programs.halting(['serve', ...at, ...how, ...more, ...register], { env })
  await worker.says('serving at')
  return worker
}

async function patch(path: string): Promise<void> {
  const response = await fetch(cluster.admin() + path, { method: 'PATCH' })
  demand(response.ok, `${path}: ${response.status} ${await response.text()}`)
}

const listed = (): Promise<string> => programs.run(['sessions', ...where])

/** A session whose worker is gone is paused; it is listed as such, and continues when it is resumed. */
async function paused(): Promise<string> {
  let worker = await startWorker(slow)
  await sessions.prompt('paused')
  await until(
    () => linesOf(effects).length === 1,
    () => 'The session does nothing.',
  )
  await worker.kill()
  const query = `select id from sys_invocation where target_service_key = 'paused' and target_handler_name = 'work'`
  const [invocation = ''] = (await cluster.query(query)).map(({ id }) => String(id))
  await patch(`/invocations/${invocation}/pause`)
  await until(
    async () => (await listed()).includes(`is paused: restate invocations resume ${invocation}`),
    () => 'The list does not tell of the session that is paused.',
  )
  worker = await startWorker(slow)
  const { state, stalled } = await sessions.status('paused')
  demand(state === 'paused' && stalled?.invocation === invocation, `Its status is ${state}: ${stalled?.message}`)
  if (cli === '') await patch(`/invocations/${invocation}/resume`)
  else {
    const env = { RESTATE_ADMIN_URL: cluster.admin() }
    const resume = programs.start(process.execPath, [cli, 'invocations', 'resume', invocation, '--yes'], { env })
    const status = await resume.ended()
    demand(status === 0, `restate invocations resume ended with ${status}: ${resume.output}`)
  }
  await sessions.over('paused')
  demand((await sessions.records('paused')).includes(unknownOutcome), 'The command that was lost is not unknown.')
  demand(linesOf(effects).length === 1, 'The command that was lost was run again.')
  await worker.kill('SIGTERM')
  return cli === '' ? 'paused, and resumed by the administration' : 'paused, and resumed by the command of the guide'
}

/** A prompt of 9 MiB: without a payload store its sender gets an error; with one it is stored there. */
async function payloads(): Promise<void> {
  const prompt = 'word '.repeat(1_900_000)
  let worker = await startWorker(quick)
  const refused = await sessions.prompt('too-large', prompt).then(() => 'taken', String)
  demand(refused.includes('halting serve --payloads'), `A prompt that can be kept nowhere: ${refused}`)
  await worker.kill('SIGTERM')
  const store = join(folder, 'payloads')
  worker = await startWorker(quick, ['--payloads', store], { CLAUDE_CODE_MAX_CONTEXT_TOKENS: '10000000' })
  await sessions.prompt('large', prompt)
  await sessions.over('large')
  demand(readdirSync(store).length === 1, 'Nothing is in the store.')
  await worker.kill('SIGTERM')
}

/** A worker at a non-loopback address sends live events to readers with its token. */
async function reached(): Promise<void> {
  const at = '127.1'
  let worker = await startWorker(slow, ['--host', at, '--register', `http://127.0.0.1:${port}`])
  demand(worker.output.includes('no live events'), `Without a token the worker says: ${worker.output}`)
  await worker.kill('SIGTERM')
  worker = await startWorker(slow, ['--host', at, '--register', `http://127.0.0.1:${port}`], {
    HALTING_WORKER_TOKEN: 'of this test',
  })
  await sessions.prompt('reached')
  await until(
    async () => (await sessions.status('reached')).live !== undefined,
    () => 'The status has no address of live events.',
  )
  const { live } = await sessions.status('reached')
  demand(live?.startsWith(`http://${at}:`) === true, `Live events are said to be at ${live}.`)
  for (const [token, wanted] of [
    ['of another', 401],
    ['of this test', 200],
  ] as const) {
    const headers = { authorization: `Bearer ${token}` }
    const response = await fetch(`${live}/sessions/reached/events`, { headers })
    await response.body?.cancel()
    demand(response.status === wanted, `With the token ${token}: ${response.status}`)
  }
  demand(!worker.output.includes('of this test'), 'The worker prints its token.')
}

try {
  const how = await paused()
  await payloads()
  await reached()
  console.log(`a session that was ${how}; a record of 9 MiB with and without a store; live events by token`)
} finally {
  await programs.end()
  await cluster.stop()
}
