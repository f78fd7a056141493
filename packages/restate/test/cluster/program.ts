// The one-laptop commands of docs/guide/cluster.md, verbatim, and a worker that is terminated (R-WORK-4, R-WORK-6). Run by scripts/cluster.mjs: program.js
// SERVER FOLDER [HALTING], the last if it is installed from packages: then it brings the server itself
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { wait } from './server.ts'

const [server = '', folder = '', installed] = process.argv.slice(2)
const root = process.cwd()
const halting = installed ?? join(root, 'packages/cli/bin/halting.js')
mkdirSync(join(folder, 'home'))

function start(args: readonly string[]): { readonly child: ChildProcess; readonly said: () => string } {
  let said = ''
  const child = spawn(process.execPath, [halting, ...args], {
    cwd: folder,
    env: { PATH: process.env['PATH'], HOME: join(folder, 'home') },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (text) => (said += String(text)))
  return { child, said: () => said }
}

async function ended(child: ChildProcess): Promise<number | string | null> {
  if (child.exitCode === null && child.signalCode === null) await new Promise((resolve) => child.once('close', resolve))
  return child.exitCode ?? child.signalCode
}

async function run(args: readonly string[]): Promise<string> {
  const { child, said } = start(args)
  const status = await ended(child)
  if (status !== 0) throw new Error(`halting ${args.join(' ')} ended with ${status}: ${said()}`)
  return said()
}

function demand(holds: boolean, what: string): void {
  if (!holds) throw new Error(what)
}

/** The commands of a block of the guide, as arguments; a quoted part is one word. */
function commandsOf(block: string): readonly (readonly string[])[] {
  return block
    .split('\n')
    .filter((line) => line.startsWith('halting '))
    .map((line) => [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '').slice(1))
}

const guide = readFileSync(join(root, 'docs/guide/cluster.md'), 'utf8')
const blocks = [...guide.matchAll(/```sh\n([^`]*)```/g)].map(([, block = '']) => commandsOf(block))
const [begin = [], all = []] = blocks
// The interactive program needs a terminal, and has separate tests.
const then = all.filter(([word]) => word !== '--cluster')
demand(begin.length === 1 && then.length === 6, 'The guide has other commands than this test knows.')

const devCommand = [...(begin[0] ?? []), ...(installed === undefined ? ['--server', server] : [])]
let dev = start(devCommand)
let worker: ReturnType<typeof start> | undefined

async function isUp(): Promise<void> {
  while (!dev.said().includes('Ctrl-C stops')) {
    demand(dev.child.exitCode === null, `halting cluster dev ended: ${dev.said()}`)
    await wait(100)
  }
}

function urlIn(output: string): string {
  return /requests at (\S+),/.exec(output)?.[1] ?? ''
}

function adminIn(output: string): string {
  return /administration at (\S+),/.exec(output)?.[1] ?? ''
}

try {
  await isUp()
  demand(dev.said().includes('✓ done'), `The session of halting cluster dev did not end well: ${dev.said()}`)
  const url = urlIn(dev.said())
  const admin = adminIn(dev.said())
  const [first = ''] = /(?<=Session )\S+/.exec(dev.said()) ?? []
  const lines: string[] = []
  for (const command of then)
    lines.push(
      await run([
        ...command.map((word) => (word === 'SESSION' ? first : word.startsWith('http:') ? url : word)),
        '--admin',
        admin,
      ]),
    )
  const [answer = '', list = '', why = '', replayed = '', whatIf = '', doctor = ''] = lines
  demand(answer.includes('7 of 7 with 0 errors'), `The prompt was answered so: ${answer}`)
  const second = /session (\S+)/.exec(answer)?.[1] ?? ''
  for (const id of [first, second])
    demand(new RegExp(`${id} .*completed`).test(list), `The list does not tell of ${id}: ${list}`)
  demand(why.includes('completed'), `halting why says: ${why}`)
  demand(replayed.includes('ended: completed'), `halting replay says: ${replayed}`)
  demand(doctor.includes('The cluster can run sessions.'), `halting doctor says: ${doctor}`)
  demand(/would have stopped|max_turns/.test(whatIf), `halting what-if says: ${whatIf}`)

  const script = join(folder, 'script.json')
  const call = { type: 'tool_use', name: 'Bash', input: { command: 'echo once >> done.txt; sleep 2' } }
  writeFileSync(script, JSON.stringify({ replies: [{ content: [call] }, { content: 'All done.' }] }))
  const flags = ['serve', '--restate', url, '--admin', admin, '--port', '0', '--script', script, '--register']
  worker = start([...flags, '--permission-mode', 'bypassPermissions', '--concurrency', '1'])
  while (!worker.said().includes('serving at')) {
    demand(worker.child.exitCode === null, `halting serve ended: ${worker.said()}`)
    await wait(100)
  }
  const at = /serving at (\S+),/.exec(worker.said())?.[1] ?? ''
  const ready = await fetch(`${at}/ready`)
  demand(ready.status === 200, `/ready says ${ready.status}: ${await ready.text()}`)
  // Two sessions, of which one waits for its turn; the worker is terminated while the first runs a command.
  const asked = ['a', 'b'].map((name) => start(['-p', `Go, ${name}.`, '--cluster', url, '--admin', admin]))
  await wait(2_000)
  worker.child.kill('SIGTERM')
  const status = await ended(worker.child)
  demand(status === 0, `After SIGTERM halting serve ended with ${status}: ${worker.said()}`)
  const port = new URL(at).port
  worker = start([...flags.map((word) => (word === '0' ? port : word)), '--permission-mode', 'bypassPermissions'])
  for (const { child, said } of asked) {
    const ending = await ended(child)
    demand(ending === 0, `A session that its worker left ended with ${ending}: ${said()}`)
  }
  worker.child.kill('SIGKILL')
  await ended(worker.child)
  // Ctrl-C ends everything that it started; the data stays.
  dev.child.kill('SIGINT')
  demand((await ended(dev.child)) === 0, `After SIGINT halting cluster dev ended so: ${dev.said()}`)
  const gone = await fetch(`${admin}/health`).catch(() => undefined)
  demand(gone === undefined, 'The server outlives halting cluster dev.')
  dev = start(devCommand)
  await isUp()
  const again = await run(['sessions', '--cluster', urlIn(dev.said()), '--admin', adminIn(dev.said())])
  for (const id of [first, second])
    demand(again.includes(`${id} `), `After a second start the list lacks ${id}: ${again}`)
  console.log(`the guide's commands; two sessions over the end of their worker`)
} finally {
  worker?.child.kill('SIGKILL')
  dev.child.kill('SIGINT')
  const status = await ended(dev.child)
  if (status !== 0) {
    console.error(`After SIGINT halting cluster dev ended with ${status}: ${dev.said()}`)
    process.exitCode = 1
  }
}
