// Many sessions on three nodes while worker processes and nodes are killed, disconnected, stopped and terminated at random. Run by scripts/cluster.mjs on a Node version that the
// SDK supports: soak.mjs SERVER FOLDER MINUTES SESSIONS SEED. Every session has its right ending, nothing is done twice, unknown outcomes are reported, and no
// tenant exceeds its budget; nothing is left in the engine. A session that is set aside is released, as by an operator.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { randomOf } from '../support/random.ts'
import { Hits } from './hits.ts'
import { OutsideLog } from './outside.ts'
import { Cluster, wait } from './server.ts'
import { playSoak, type SoakSession, type SoakWorld } from './soak-sessions.ts'
import { SessionOnCluster } from './session-on-cluster.ts'
import { Tenants } from './tenants.ts'
import { Workers } from './workers.ts'

const [program = '', folder = '', minutes = '2', sessions = '20', seed = '14'] = process.argv.slice(2)
const random = randomOf(Number(seed))
/** Maximum time that sessions may take once the faults have stopped. */
const drainMs = 240_000

/** Outside of the folder, which is removed. */
const problems = fileURLToPath(new URL('problems', import.meta.url))
const outsideLog = join(folder, 'outside.log')
const cluster = await Cluster.start(program, folder, 3)
const outside = new OutsideLog(outsideLog)
const tenants = new Tenants(cluster, outside)
const nodes = Array.from({ length: cluster.size }, (_, index) => cluster.ingress(index))
const workers = await Workers.start(
  {
    program: fileURLToPath(new URL('soak-worker.mjs', import.meta.url)),
    given: [outsideLog, cluster.admin(), ...nodes],
    logFile: join(folder, 'workers.log'),
  },
  3,
)
await cluster.register(workers.url)
const began = Date.now()
const endsAt = began + Number(minutes) * 60_000
const world: SoakWorld = { cluster, outside, tenants, turns: 20, toolMs: 120, deadline: endsAt + drainMs }

const hits = new Hits()

async function disturb(): Promise<void> {
  const worker = workers.ready[random(Math.max(1, workers.ready.length))]
  const drawn = random(100)
  if (worker === undefined) return
  const { pid } = worker.process
  if (drawn < 33) {
    await workers.kill(worker)
    hit('killed a worker process', [pid])
  } else if (drawn < 45) {
    hit('terminated a worker process', [pid])
    await workers.drain(worker)
  } else if (drawn < 60) {
    hit('cut the connections of a worker', [pid])
    workers.cut(worker)
  } else if (drawn < 68) {
    hit('held a worker still', [pid])
    workers.hold(worker, true)
    await wait(500 + random(4_000))
    workers.hold(worker, false)
  } else {
    hit(
      'killed a node',
      workers.ready.map(({ process: { pid: of } }) => of),
    )
    await cluster.kill(random(cluster.size))
    await cluster.ready()
  }
}

/** `processes`: whose work the fault may hit. */
function hit(fault: string, processes: readonly (number | undefined)[]): void {
  outside.read()
  hits.add(fault, outside.underWay(processes))
}

const played: SoakSession[] = []
let next = 0
/** Plays one session after another until the time is up. */
async function lane(): Promise<void> {
  do {
    const session = await playSoak(next++, world)
    played.push(session)
    for (const problem of session.problems) console.error(`${session.id}, ${session.kind}: ${problem}`)
    if (session.problems.length > 0) await keepForLater(session)
  } while (Date.now() < endsAt)
}

/** The records of a faulty session stay for debugging. */
async function keepForLater({ id }: SoakSession): Promise<void> {
  mkdirSync(problems, { recursive: true })
  const all = [{ paid: outside.paid(id) }, ...(await new SessionOnCluster(cluster, id).records())]
  writeFileSync(join(problems, `${id}.jsonl`), all.map((each) => `${JSON.stringify(each)}\n`).join(''))
  console.error(`  Its records: ${join(problems, `${id}.jsonl`)}`)
}

async function disturbAll(): Promise<void> {
  while (Date.now() < endsAt) {
    await wait(1_000 + random(3_000))
    await disturb().catch((error: unknown) => console.error(`A fault could not be made: ${String(error)}`))
  }
}

const over = new AbortController()
async function lookAtMoney(): Promise<void> {
  while (!over.signal.aborted) {
    await tenants.look()
    await wait(500)
  }
}

const looking = lookAtMoney()
await Promise.all([disturbAll(), ...Array.from({ length: Number(sessions) }, () => lane())])
over.abort()
await looking

/** What is left after every session has ended. Cleaning up may take a moment. */
async function leftOver(): Promise<readonly string[]> {
  for (let left = 60; ; left--) {
    const unfinished = await cluster.unfinished()
    if (unfinished.length === 0) return []
    if (left === 0) return unfinished.map((row) => `The engine has not finished ${JSON.stringify(row)}`)
    await wait(1_000)
  }
}

/** Random kills hit one session three times now and then: 5 of 376, and 4 of 114 on a busy machine. More would be a fault. */
const maxSetAside = Math.max(6, played.length / 20)
const setAside = played.filter(({ wasSetAside }) => wasSetAside).map(({ id }) => id)
const left = [...(await leftOver()), ...(await tenants.problemsAtEnd())]
if (setAside.length > maxSetAside) left.push(`So many were set aside: ${setAside.join(', ')}`)
for (const problem of left) console.error(problem)
const sum = (of: (session: SoakSession) => number): number => played.reduce((total, session) => total + of(session), 0)
console.log(
  [
    `${played.length} sessions, ${sessions} at once, of ${sum(({ turns }) => turns)} turns and ${sum(({ records }) => records)} records in ${Math.round((Date.now() - began) / 1000)} s; seed ${seed}`,
    `  ${sum(({ unknown }) => unknown)} calls reported as unknown; ${tenants.summary}; set aside and released: ${setAside.length}`,
    ...hits.lines(),
  ].join('\n'),
)
await workers.stop()
await cluster.stop()
process.exit(left.length === 0 && sum(({ problems }) => problems.length) === 0 ? 0 : 1)
