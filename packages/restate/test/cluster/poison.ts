// Sessions that kill their worker each time that they run: each is set aside by name after three deaths, and its neighbours complete (R-POIS); their lost requests are looked up
// (R-BUD-21). Run by scripts/cluster.mjs:
// poison.mjs SERVER FOLDER; poison-worker.mjs is in the same folder.
import { spawn, type ChildProcess } from 'node:child_process'
import { openSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { FullStatus } from '../../src/service/full-status.ts'
import { demand, Programs, until } from './programs.ts'
import { Cluster, freePort, wait } from './server.ts'

const [server = '', folder = ''] = process.argv.slice(2)
const here = dirname(fileURLToPath(import.meta.url))
const log = join(folder, 'log')
const logFile = join(folder, 'worker.log')
const programs = new Programs(folder)
const cluster = await Cluster.start(server, folder, 1)
const port = await freePort()
const turns = 6

/** One worker process, restarted at its address whenever it dies. */
class Supervised {
  deaths = 0
  #isOver = false
  #child: ChildProcess | undefined

  start(): void {
    const out = openSync(logFile, 'a')
    const args = [join(here, 'poison-worker.mjs'), String(port), log, cluster.admin(), cluster.ingress()]
    const child = spawn(process.execPath, ['--max-old-space-size=128', ...args], {
      stdio: ['ignore', out, out],
      env: { ...process.env, RESTATE_LOGGING: 'ERROR' },
    })
    this.#child = child
    child.once('exit', () => {
      if (this.#isOver) return
      this.deaths++
      setTimeout(() => this.start(), 200)
    })
  }

  async stop(): Promise<void> {
    this.#isOver = true
    const child = this.#child
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const gone = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGKILL')
    await gone
  }
}

async function prompt(session: string, opening: object): Promise<void> {
  const request = { id: `prompt-${session}`, request: { type: 'prompt', content: 'Go.' }, opening }
  await cluster.call(`halting_session/${session}/request`, request)
}

// The answer of the object of a session.
const status = async (session: string): Promise<FullStatus> =>
  (await cluster.call(`halting_session/${session}/status`)) as FullStatus
const isSetAside = ({ stalled }: FullStatus): boolean => stalled?.kind === 'set_aside' && stalled.needsResume

/** Lines of the log: the time, the process, what, about which session, and more. */
const noted = (what: string, session: string): readonly (readonly string[])[] =>
  readFileSync(log, 'utf8')
    .split('\n')
    .map((line) => line.split(' '))
    .filter(([, , verb, about]) => verb === what && about === session)

const worker = new Supervised()

/** Waits until it is set aside. Returns how long that took, in seconds. */
async function setAside(session: string): Promise<number> {
  const began = performance.now()
  let last: FullStatus | undefined
  await until(
    async () => isSetAside((last = await status(session))),
    () => `${session} is not set aside: ${JSON.stringify(last)}`,
  )
  demand(last?.stalled?.message.includes(`halting sessions release ${session}`) === true, 'It does not say what helps.')
  demand(last.stalled.message.includes(`http://127.0.0.1:${port}`), 'It does not say where.')
  return (performance.now() - began) / 1_000
}

async function neighboursComplete(names: readonly string[]): Promise<number> {
  let unknown = 0
  for (const name of names) {
    let last: FullStatus | undefined
    await until(
      async () => (last = await status(name)).state === 'idle' && last.reason === 'completed',
      () => `${name} does not complete: ${JSON.stringify(last)}`,
    )
    const acted = noted('acted', name).map((line) => line.at(-1))
    demand(new Set(acted).size === acted.length, `${name} acted ${acted.join(', ')}.`)
    // A call that was running when the process died is unknown, whether or not it was made.
    demand(acted.length >= turns - 3 && acted.length <= turns, `${name} acted ${acted.length} times.`)
    demand(
      noted('event', name).every((line) => line[4] !== 'session_set_aside'),
      `${name} was set aside.`,
    )
    unknown += last?.unknownUsd ?? 0
  }
  return unknown
}

/** Lost requests of these sessions whose usage was looked up: at most one for each death of the worker. */
function lookedUp(names: readonly string[]): number {
  const ids = names.flatMap((name) => noted('looked', name).map((line) => line.at(-1) ?? ''))
  const counts = new Map<string, number>()
  for (const id of ids) counts.set(id, (counts.get(id) ?? 0) + 1)
  demand(
    [...counts.values()].every((count) => count <= 3),
    `The service was asked ${ids.length} times of ${counts.size} replies.`,
  )
  return counts.size
}

/** One session that kills its worker in this way, and eight that do not. */
async function poisoned(kills: 'signal' | 'memory'): Promise<string> {
  const culprit = `culprit-${kills}`
  const before = worker.deaths
  const began = performance.now()
  const names = Array.from({ length: 8 }, (_, index) => `${kills}-${index}`)
  await Promise.all([
    ...names.slice(0, 4).map((name) => prompt(name, { turns })),
    prompt(culprit, { turns: 50, kills }),
  ])
  await Promise.all(names.slice(4).map((name) => prompt(name, { turns })))
  const seconds = await setAside(culprit)
  const deaths = worker.deaths - before
  demand(deaths === 3, `The worker ended ${deaths} times before ${culprit} was set aside.`)
  const unknown = await neighboursComplete(names)
  const looked = lookedUp(names)
  demand(looked > 0, 'No lost request was looked up.')
  const all = (performance.now() - began) / 1_000
  await wait(3_000)
  demand(worker.deaths - before === 3, `The worker ended ${worker.deaths - before} times.`)
  const acted = noted('acted', culprit).map((line) => line.at(-1))
  demand(new Set(acted).size === acted.length, `${culprit} acted ${acted.join(', ')}.`)
  console.log(
    `kept: (${kills}) set aside after 3 ends of the worker, in ${seconds.toFixed(1)} s; its 8 neighbours completed in ${all.toFixed(1)} s, none of them set aside, each call made once, ${looked} lost requests of theirs charged as the service reports, $${unknown.toFixed(4)} at worst case`,
  )
  return culprit
}

try {
  worker.start()
  await cluster.register(`http://127.0.0.1:${port}`)
  const culprit = await poisoned('signal')
  const other = await poisoned('memory')

  const where = ['--cluster', cluster.ingress(), '--admin', cluster.admin()]
  demand(
    (await programs.run(['sessions', ...where])).includes('set aside'),
    'The list does not say that it is set aside.',
  )
  const deaths = worker.deaths
  await programs.run(['sessions', 'release', culprit, ...where])
  await until(
    () => worker.deaths > deaths,
    () => 'It is not tried again.',
  )
  const seconds = await setAside(culprit)
  demand(worker.deaths - deaths === 3, `After its release it ended ${worker.deaths - deaths} workers.`)
  console.log(`kept: after its release it is tried again, and set aside after 3 more ends, in ${seconds.toFixed(1)} s`)

  const acted = noted('acted', culprit).length
  await cluster.call(`halting_session/${culprit}/interrupt`, {})
  await programs.run(['sessions', 'release', culprit, ...where])
  let last: FullStatus | undefined
  await until(
    async () => (last = await status(culprit)).state === 'idle',
    () => `The run that was interrupted does not end: ${JSON.stringify(last)}`,
  )
  demand(worker.deaths - deaths === 3 && noted('acted', culprit).length === acted, 'It was run again.')
  console.log(
    `kept: one that was interrupted while it was set aside ends when it is released (${last?.reason}), and is not run again`,
  )

  const { stalled } = await status(other)
  const kill = await fetch(`${cluster.admin()}/invocations/${stalled?.invocation}/kill`, { method: 'PATCH' })
  demand(kill.ok, `The engine does not kill it: ${kill.status} ${await kill.text()}`)
  await cluster.call(`halting_session/${other}/remove`)
  demand(!(await programs.run(['sessions', ...where])).includes(other), 'The list has a session that was removed.')
  console.log('kept: one that is set aside is removed without being run again')
} catch (error) {
  console.error(String(error))
  console.error(readFileSync(log, 'utf8').split('\n').slice(-60).join('\n'))
  console.error(readFileSync(logFile, 'utf8').slice(-3_000))
  console.error(JSON.stringify(await cluster.unfinished(), null, 1))
  process.exitCode = 1
} finally {
  await worker.stop()
  await programs.end()
  await cluster.stop()
}
process.exit()
