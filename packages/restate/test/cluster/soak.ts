// Many sessions on three nodes while worker processes and nodes are killed, cut off and held at random. Run by scripts/cluster.mjs on a Node that the SDK runs on:
// soak.mjs SERVER FOLDER MINUTES SESSIONS SEED. Every session ends with its right terminal, nothing is done twice, and what is not known is told.
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { randomOf } from '../support/random.ts'
import { OutsideLog } from './outside.ts'
import { Cluster, wait } from './server.ts'
import { playSoak, type SoakSession, type SoakWorld } from './soak-sessions.ts'
import { Workers } from './workers.ts'

const [program = '', folder = '', minutes = '2', sessions = '20', seed = '14'] = process.argv.slice(2)
const random = randomOf(Number(seed))
/** So long sessions may take once nobody disturbs them any more. */
const drainMs = 240_000

const began = Date.now()
const endsAt = began + Number(minutes) * 60_000
const outsideLog = join(folder, 'outside.log')
const world: SoakWorld = {
  cluster: await Cluster.start(program, folder, 3),
  outside: new OutsideLog(outsideLog),
  turns: 20,
  toolMs: 40,
  deadline: endsAt + drainMs,
}
const { cluster } = world
const workers = await Workers.start(
  {
    program: fileURLToPath(new URL('soak-worker.mjs', import.meta.url)),
    given: [outsideLog],
    logFile: join(folder, 'workers.log'),
  },
  3,
)
await cluster.register(workers.url)

/** How often each fault came. */
const faults = new Map<string, number>()

async function disturb(): Promise<void> {
  const worker = workers.ready[random(Math.max(1, workers.ready.length))]
  const drawn = random(100)
  if (worker === undefined) return
  if (drawn < 45) {
    count('worker processes killed')
    await workers.kill(worker)
  } else if (drawn < 62) {
    count('times the connections of a worker cut')
    workers.cut(worker)
  } else if (drawn < 72) {
    count('times a worker held still')
    workers.hold(worker, true)
    await wait(500 + random(4_000))
    workers.hold(worker, false)
  } else {
    count('nodes killed')
    await cluster.kill(random(cluster.size))
    await cluster.ready()
  }
}

function count(fault: string): void {
  faults.set(fault, (faults.get(fault) ?? 0) + 1)
}

const played: SoakSession[] = []
let next = 0
/** Plays one session after another, until the time is up. */
async function lane(): Promise<void> {
  do {
    const session = await playSoak(next++, world)
    played.push(session)
    for (const problem of session.problems) console.error(`${session.id}, ${session.kind}: ${problem}`)
  } while (Date.now() < endsAt)
}

async function disturbAll(): Promise<void> {
  while (Date.now() < endsAt) {
    await wait(1_000 + random(3_000))
    await disturb().catch((error: unknown) => console.error(`A fault could not be made: ${String(error)}`))
  }
}

await Promise.all([disturbAll(), ...Array.from({ length: Number(sessions) }, () => lane())])

const problems = played.flatMap((session) => session.problems)
if (problems.length > 0)
  for (const row of await cluster.unfinished().catch((error: unknown) => [String(error)]))
    console.error(JSON.stringify(row))
const sum = (of: (session: SoakSession) => number): number => played.reduce((total, session) => total + of(session), 0)
console.log(
  `${played.length} sessions, ${sessions} at once, of ${sum(({ turns }) => turns)} turns and ${sum(({ records }) => records)} records in ${Math.round((Date.now() - began) / 1000)} s; ${[...faults].map(([fault, times]) => `${times} ${fault}`).join(', ')}; seed ${seed}`,
)
await workers.stop()
await cluster.stop()
process.exit(problems.length === 0 ? 0 : 1)
