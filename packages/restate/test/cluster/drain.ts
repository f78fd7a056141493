// Workers behind one address, of which one after another is terminated while commands run; their effects are counted outside (R-WORK-4). Run by
// scripts/cluster.mjs: drain.mjs SERVER FOLDER
import { join } from 'node:path'
import { Balancer, demand, type Program, Programs, until } from './programs.ts'
import { Cluster, freePort } from './server.ts'
import { linesOf, SessionsOf, unknownOutcome, writeScript } from './sessions-of.ts'

const [server = '', folder = ''] = process.argv.slice(2)
const programs = new Programs(folder)
const cluster = await Cluster.start(server, folder, 1)
const sessions = new SessionsOf(cluster)
const effects = join(folder, 'effects.txt')
/** A command that reports its session, its worker and its process; in some sessions it runs longer than any grace period. */
const command = `echo "\${PWD##*/} $PPID $$" >> '${effects}'; case "$PWD" in */long-*) sleep 300;; *) sleep 0.5;; esac`
const script = writeScript(join(folder, 'script.json'), command, command, command)
const ports = [await freePort(), await freePort(), await freePort()]
const address = await Balancer.start(ports)

async function startWorker(port: number): Promise<Program> {
  const where = ['--restate', cluster.ingress(), '--admin', cluster.admin(), '--register', address.url]
  const how = ['--script', script, '--permission-mode', 'bypassPermissions', '--grace', '3s']
  const worker = programs.halting(['serve', ...where, '--port', String(port), ...how])
  await worker.says('serving at')
  return worker
}

const done = (): readonly (readonly string[])[] => linesOf(effects).map((line) => line.split(' '))
const countOf = (session: string): number => done().filter(([name]) => name === session).length

/** The worker and the command of a session at work. */
async function workerOf(session: string): Promise<{ readonly worker: Program; readonly command: number }> {
  await until(
    () => countOf(session) > 0,
    () => `${session} does nothing.`,
  )
  const [, parent, own] = done().findLast(([name]) => name === session) ?? []
  const worker = workers.find(({ child }) => String(child.pid) === parent)
  demand(worker !== undefined, `Nobody is the worker ${parent}.`)
  return { worker, command: Number(own) }
}

/** A command does not outlive its worker. */
async function gone(pid: number): Promise<void> {
  const isGone = (): boolean => {
    try {
      return !process.kill(pid, 0)
    } catch {
      return true
    }
  }
  await until(isGone, () => `The command ${pid} outlives its worker.`)
}

const workers: Program[] = []
try {
  for (const port of ports) workers.push(await startWorker(port))
  // One of three workers ends while commands run: every command runs once, and none is reported as unknown.
  const names = Array.from({ length: 12 }, (_, index) => `short-${index}`)
  await Promise.all(names.map((name) => sessions.prompt(name)))
  const { worker: first } = await workerOf('short-0')
  const status = await first.kill('SIGTERM')
  demand(status === 0, `After SIGTERM a worker ended with ${status}: ${first.output}`)
  for (const name of names) await sessions.over(name)
  for (const name of names) {
    demand(countOf(name) === 3, `${name} did ${countOf(name)} of 3.`)
    demand(!(await sessions.records(name)).includes(unknownOutcome), `Something of ${name} is unknown.`)
  }
  const spread = new Set(done().map(([, parent]) => parent)).size
  demand(spread > 1, 'One worker did everything.')

  // A command that exceeds the grace period is ended, reported to the model as unknown, and not repeated.
  await sessions.prompt('long-1')
  const graced = await workerOf('long-1')
  const atGrace = await graced.worker.kill('SIGTERM')
  demand(atGrace === 0, `After the grace a worker ended with ${atGrace}: ${graced.worker.output}`)
  await gone(graced.command)
  await sessions.over('long-1')
  const after = countOf('long-1')
  const records = await sessions.records('long-1')
  demand(after === 1 && records.includes(unknownOutcome), `After the grace: ${after} effects, ${records}`)

  // A second signal ends the worker at once.
  workers.push(await startWorker(ports[workers.indexOf(first)] ?? 0))
  await sessions.prompt('long-2')
  const hurried = await workerOf('long-2')
  hurried.worker.child.kill('SIGTERM')
  await hurried.worker.says('stopping: ')
  const atOnce = await hurried.worker.kill('SIGTERM')
  demand(atOnce === 143, `After a second signal a worker ended with ${atOnce}: ${hurried.worker.output}`)
  await sessions.over('long-2')
  demand(countOf('long-2') === 1, `After a second signal: ${countOf('long-2')} effects.`)
  await gone(hurried.command)
  console.log(
    `12 sessions on ${spread} of 3 workers, 36 of 36 effects over the end of one; the grace, and a second signal`,
  )
} finally {
  await programs.end()
  address.stop()
  await cluster.stop()
}
