// Random sessions on a node have the same records and endings as in memory, except for times. Run by scripts/cluster.mjs on a Node version that the SDK supports:
// same.mjs SERVER FOLDER SESSIONS SEED
import { deepStrictEqual } from 'node:assert'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { sameOf } from '../support/course.ts'
import { endsOf, playHere } from '../support/play.ts'
import { promptOf } from '../support/plan.ts'
import { answerTo, randomSession } from '../support/random-plan.ts'
import { OutsideLog } from './outside.ts'
import { Cluster, wait } from './server.ts'
import { SessionOnCluster } from './session-on-cluster.ts'
import { Workers } from './workers.ts'

const [program = '', folder = '', sessions = '20', seed = '14'] = process.argv.slice(2)
const outsideLog = join(folder, 'outside.log')
const cluster = await Cluster.start(program, folder, 1)
const outside = new OutsideLog(outsideLog)
const workers = await Workers.start(
  {
    program: fileURLToPath(new URL('soak-worker.mjs', import.meta.url)),
    given: [outsideLog],
    logFile: join(folder, 'workers.log'),
  },
  2,
)
await cluster.register(workers.url)

/** Maximum duration of a session among others. */
const patienceMs = 120_000

async function compare(number: number): Promise<number> {
  const session = randomSession(number)
  const id = `same${number}`
  const on = new SessionOnCluster(cluster, id)
  const answered = new Set<string>()
  const patientUntil = Date.now() + patienceMs
  let before = 0
  for (let run = 1; run <= session.prompts; run++) {
    await on.ask(`prompt-${run}`, { type: 'prompt', content: promptOf(run) }, { plan: session.plan })
    for (;;) {
      outside.read()
      for (const callId of outside.asks(id).filter((each) => !answered.has(each))) {
        answered.add(callId)
        await on.ask(`answer-${callId}`, { type: 'answer', callId, answer: answerTo(callId) })
      }
      const status = await on.status()
      const number = Number(status.runId?.replace('run', '') ?? 0)
      // Messages queued when a run broke begin the next run automatically.
      const isOver = status.state === 'idle' && !status.isWorking && status.waiting === 0 && number > before
      if (isOver) {
        before = number
        break
      }
      if (Date.now() > patientUntil) throw new Error(`Prompt ${run} was not answered: ${JSON.stringify(status)}`)
      await wait(100)
    }
  }
  const records = await on.records()
  outside.read()
  const played = { records, reasons: endsOf(records), effects: outside.paid(id) }
  deepStrictEqual(sameOf(number, played), sameOf(number, await playHere(session, undefined, id)))
  return records.length
}

/** Number of concurrent sessions: most of the time of a session is waiting. */
const lanes = 12
let records = 0
let failed = 0
let next = Number(seed)
const end = next + Number(sessions)

async function lane(): Promise<void> {
  while (next < end) {
    const number = next++
    try {
      records += await compare(number)
    } catch (error) {
      failed++
      console.error(`Session ${number}: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
}

await Promise.all(Array.from({ length: lanes }, () => lane()))
console.log(`${sessions} sessions of ${records} records, as in memory`)
await workers.stop()
await cluster.stop()
process.exit(failed === 0 ? 0 : 1)
