// The commands of docs/guide/operating.md for a lost worker, verbatim: no other worker runs, the list says which one is awaited, and one at another address takes its
// session. Run by scripts/cluster.mjs: remedy.js SERVER FOLDER
import { randomUUID } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { demand, Programs, until } from './programs.ts'
import { Cluster, freePort } from './server.ts'

const [server = '', folder = ''] = process.argv.slice(2)
const guide = readFileSync(join(process.cwd(), 'docs/guide/operating.md'), 'utf8')
const [, section = ''] = guide.split('\n## If a worker is lost\n')
const commands = section
  .split('\n## ')[0]
  ?.split('\n')
  .filter((line) => line.startsWith('halting '))
  .map((line) => line.split(' ').slice(1))
const [list = [], serve = []] = commands ?? []
demand(commands?.length === 2 && serve[0] === 'serve', 'The guide has other commands than this test knows.')

const programs = new Programs(folder)
const cluster = await Cluster.start(server, folder, 1)
const [oldPort, newPort] = [await freePort(), await freePort()]
/** At the addresses of this test. */
const here = (words: readonly string[]): readonly string[] => [
  ...words.map((word) => word.replace('http://127.0.0.1:8080', cluster.ingress()).replace('9081', String(newPort))),
  '--admin',
  cluster.admin(),
]
const script = join(folder, 'script.json')
const call = { type: 'tool_use', name: 'Bash', input: { command: 'echo once >> done.txt; sleep 4' } }
writeFileSync(script, JSON.stringify({ replies: [{ content: [call] }, { content: 'All done.' }] }))
const model = ['--script', script, '--permission-mode', 'bypassPermissions']
try {
  const lost = programs.halting([...here(serve.map((word) => (word === '9081' ? String(oldPort) : word))), ...model])
  await lost.says('serving at')
  const id = randomUUID()
  const asked = programs.halting(here(['-p', 'Go.', '--session-id', id, '--cluster', cluster.ingress()]))
  await until(
    async () => {
      demand(!asked.isGone, `The client ended: ${asked.output}`)
      return (await programs.run(here(list))).includes('running')
    },
    () => 'The session does not begin.',
  )
  await lost.kill()
  const began = Date.now()
  const awaited = `waits for worker http://127.0.0.1:${oldPort} since `
  await until(
    async () => (await programs.run(here(list))).includes(awaited),
    () => 'The list does not say which worker is awaited.',
  )
  const resumed = programs.halting(here(['-p', '--resume', id, '--cluster', cluster.ingress()]))
  await resumed.says(awaited)
  const worker = programs.halting([...here(serve), ...model])
  await worker.says('serving at')
  const startedMs = Date.now()
  for (const client of [asked, resumed]) {
    const status = await client.ended()
    demand(status === 0 && client.output.includes('All done.'), `A client ended with ${status}: ${client.output}`)
  }
  const seconds = (Date.now() - startedMs) / 1000
  demand(seconds < 30, `The session ended ${seconds} s after the start of the other worker.`)
  const done = readFileSync(join(folder, 'halting-workspaces', id, 'done.txt'), 'utf8')
  demand(done === 'once\n', `The command was run so often: ${done}`)
  console.log(
    `kept: the list and --resume say which worker is awaited, after ${((startedMs - began) / 1000).toFixed(1)} s\nkept: another one, started as the guide says, ends its session ${seconds.toFixed(1)} s later; its command was run once`,
  )
} finally {
  await programs.end()
  await cluster.stop()
}
