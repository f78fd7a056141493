// Calls that wait for a person: they occupy no worker, a backup of the engine's data restores them, and each continues with its answer (docs/guide/cluster.md,
// "Back up"; R-WORK-3a). Run by scripts/cluster.mjs: waits.mjs SERVER FOLDER
import { cpSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { demand, type Program, Programs, until } from './programs.ts'
import { Cluster, freePort } from './server.ts'
import { linesOf, SessionsOf, writeScript } from './sessions-of.ts'

const [server = '', folder = ''] = process.argv.slice(2)
const programs = new Programs(folder)
const effects = join(folder, 'effects.txt')
const script = writeScript(join(folder, 'script.json'), `echo "\${PWD##*/}" >> '${effects}'`)
const port = await freePort()
const countOf = (session: string): number => linesOf(effects).filter((name) => name === session).length

async function startWorker(cluster: Cluster, ...more: readonly string[]): Promise<Program> {
  const where = ['--restate', cluster.ingress(), '--admin', cluster.admin(), '--port', String(port), '--register']
  const worker = programs.halting([
    'serve',
    ...where,
    '--script',
    script,
    '--workspaces',
    join(folder, 'files'),
    ...more,
  ])
  await worker.says('serving at')
  return worker
}

const original = join(folder, 'original')
const copy = join(folder, 'copy')
mkdirSync(original)
let cluster = await Cluster.start(server, original, 1)
try {
  // One session at a time: waiting ones take no place.
  let worker = await startWorker(cluster, '--concurrency', '1')
  let sessions = new SessionsOf(cluster)
  const names = ['approved', 'denied', 'before']
  for (const name of names) await sessions.prompt(name)
  const calls = new Map<string, string>()
  for (const name of names) calls.set(name, await sessions.asks(name))
  const where = (): readonly string[] => ['--cluster', cluster.ingress(), '--admin', cluster.admin()]
  const say = (word: string, name: string, ...more: readonly string[]): Promise<string> =>
    programs.run([word, name, calls.get(name) ?? '', ...more, ...where()])
  const list = await programs.run(['sessions', ...where()])
  for (const name of names)
    demand(list.includes(`${name}  0 turns, waits for an answer: ${calls.get(name)}`), `The list: ${list}`)
  await say('approve', 'before')
  await sessions.over('before')

  // Everything ends; then the copy starts, without the original.
  demand((await worker.kill('SIGTERM')) === 0, `After SIGTERM the worker says: ${worker.output}`)
  await cluster.stop()
  cpSync(original, copy, { recursive: true })
  rmSync(original, { recursive: true })
  cluster = await Cluster.start(server, copy, 1)
  sessions = new SessionsOf(cluster)
  demand(countOf('approved') + countOf('denied') === 0, 'A call did not wait for its answer.')

  worker = await startWorker(cluster)
  const output = await say('approve', 'approved')
  demand(output.includes(`Approved: ${calls.get('approved')}`), `halting approve says: ${output}`)
  await sessions.over('approved')
  await say('deny', 'denied', '--message', 'Anna said no: not on a Friday.')
  await until(
    async () => (await sessions.status('denied')).state === 'idle',
    () => 'The session whose call was denied does not end.',
  )
  demand(
    (await sessions.records('denied')).includes('Anna said no: not on a Friday.'),
    'The model did not receive the reason.',
  )
  demand(
    countOf('before') === 1 && countOf('approved') === 1 && countOf('denied') === 0,
    `Effects: ${linesOf(effects).join(', ')}`,
  )
  const again = programs.halting(['approve', 'approved', calls.get('approved') ?? '', ...where()])
  demand(
    (await again.ended()) === 2 && again.output.includes('is waiting for an answer'),
    `A second answer: ${again.output}`,
  )
  console.log(
    'three calls that wait, of one session at once; two of them in a copy of the data, each as it was answered',
  )
} finally {
  await programs.end()
  await cluster.stop()
}
