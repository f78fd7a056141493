// The commands of "Three nodes" in docs/guide/operating.md, verbatim except for addresses and folders: the cluster continues without one node, and with it when it
// is back. Run by scripts/cluster.mjs: three-nodes.mjs SERVER FOLDER
import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { blocksOf, wordsOf } from './guide.ts'
import { Balancer, demand, type Program, Programs, until } from './programs.ts'
import { freePort } from './server.ts'
import { callsAt, linesOf, SessionsOf, unknownOutcome, writeScript } from './sessions-of.ts'

const [server = '', folder = ''] = process.argv.slice(2)
const programs = new Programs(folder)
const names = ['n1', 'n2', 'n3']
const [nodeLines = [], workerLines = []] = blocksOf('Three nodes')
const exported = nodeLines.filter((line) => line.startsWith('export '))
const starts = nodeLines.filter((line) => line.includes('restate-server'))
demand(starts.length === 3 && exported.length === 2, 'The guide has other commands for nodes than this test knows.')
demand(workerLines.length === 4, 'The guide has other commands for workers than this test knows.')

const ports: { readonly node: number; readonly ingress: number; readonly admin: number; readonly worker: number }[] = []
for (const _ of names)
  ports.push({ node: await freePort(), ingress: await freePort(), admin: await freePort(), worker: await freePort() })
const requests = await Balancer.start(ports.map(({ ingress }) => ingress))
const admin = await Balancer.start(ports.map((each) => each.admin))
const workers = await Balancer.start(ports.map(({ worker }) => worker))
const bin = join(folder, 'bin')
mkdirSync(bin)
symlinkSync(server, join(bin, 'restate-server'))

/** A line of the guide with the paths of this machine. */
function here(line: string): string {
  return names
    .reduce(
      (text, name, index) => text.replaceAll(`http://${name}:5122`, `http://127.0.0.1:${ports[index]?.node}`),
      line,
    )
    .replaceAll('http://engine:8080', requests.url)
    .replaceAll('http://engine:9070', admin.url)
    .replaceAll('http://workers:9080', workers.url)
    .replaceAll('/var/lib/restate', join(folder, 'data'))
    .replaceAll('/mnt/', `${folder}/`)
}

function startNode(index: number): Program {
  const own = ports[index]
  return programs.start('sh', ['-c', `${exported.map(here).join('\n')}\nexec env ${here(starts[index] ?? '')}`], {
    env: {
      PATH: `${bin}:${process.env['PATH']}`,
      RESTATE_LOG_FILTER: 'warn',
      RESTATE_ROCKSDB_TOTAL_MEMORY_SIZE: '256 MB',
      RESTATE_BIND_ADDRESS: `127.0.0.1:${own?.node}`,
      RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${own?.ingress}`,
      RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${own?.admin}`,
    },
  })
}

async function ready(index: number): Promise<void> {
  const { ingress, admin: own } = ports[index] ?? {}
  for (const url of [`http://127.0.0.1:${own}/health`, `http://127.0.0.1:${ingress}/restate/health`])
    await until(
      async () => {
        const response = await fetch(url).catch(() => undefined)
        await response?.arrayBuffer()
        return response?.ok === true
      },
      () => `${url} does not answer: ${nodes[index]?.output.slice(-3_000)}`,
    )
}

const effects = join(folder, 'effects.txt')
const command = `echo "$PWD" >> '${effects}'; sleep 1`
const script = writeScript(join(folder, 'script.json'), command, command, command)

/** How often a session had its side effect, counted outside. */
function countOf(session: string): number {
  return linesOf(effects).filter((line) => line.endsWith(`/${session}`)).length
}

const started = Date.now()
const nodes = names.map((_, index) => startNode(index))
try {
  for (const index of names.keys()) await ready(index)
  const up = Date.now()
  const [one = '', two = '', prompt = '', list = ''] = workerLines.map(here)
  for (const [index, line] of [one, two].entries()) {
    const words = wordsOf(line.replace(/--host \S+/, '--host 127.0.0.1')).slice(1)
    const port = ports[index]?.worker
    const own = ['--port', String(port), '--script', script, '--permission-mode', 'bypassPermissions']
    const worker = programs.halting([...words, ...own])
    await worker.says('serving at')
    const response = await fetch(`http://127.0.0.1:${port}/ready`)
    demand(response.status === 200, `/ready says ${response.status}: ${await response.text()}`)
  }
  const sessions = new SessionsOf(callsAt(requests.url))
  const begin = async (...keys: readonly string[]): Promise<void> => {
    for (const key of keys) await sessions.prompt(key)
  }
  const over = async (...keys: readonly string[]): Promise<void> => {
    for (const key of keys) await sessions.over(key)
  }
  const serving = Date.now()
  const output = await programs.run(wordsOf(prompt).slice(1))
  demand(output.includes('All done.'), `halting -p says: ${output}`)
  // The node that created the cluster is killed while sessions run; others begin without it.
  await begin('a', 'b', 'c')
  await until(
    () => ['a', 'b', 'c'].every((key) => countOf(key) > 0),
    () => 'No session has an effect.',
  )
  await nodes[0]?.kill()
  const killed = Date.now()
  await begin('d', 'e')
  await over('a', 'b', 'c', 'd', 'e')
  const without = Date.now()
  nodes[0] = startNode(0)
  await ready(0)
  await nodes[1]?.kill()
  await begin('f')
  await over('f')
  const listed = await programs.run(wordsOf(list).slice(1))
  const completed = listed.split('\n').filter((line) => line.includes('completed')).length
  demand(completed === 7, `The list shows ${completed} completed sessions: ${listed}`)
  let unknown = 0
  for (const key of ['a', 'b', 'c', 'd', 'e', 'f']) {
    const isUnknown = (await sessions.records(key)).includes(unknownOutcome)
    // A killed node interrupts at most one command, which is not repeated.
    demand(isUnknown ? countOf(key) <= 3 : countOf(key) === 3, `${key} did ${countOf(key)} of 3 commands.`)
    if (isUnknown) unknown++
  }
  console.log(
    `7 sessions on three nodes, of which one after another was missing, no command twice, ${unknown} unknown; ` +
      `up after ${up - started} ms, workers ${serving - up} ms, sessions over a killed node ${without - killed} ms`,
  )
} finally {
  await programs.end()
  for (const balancer of [requests, admin, workers]) balancer.stop()
}
