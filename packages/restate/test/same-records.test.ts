// Holds rules of docs/spec: R-STEP-1, R-STEP-13, R-STEP-13b, R-GROW-2: the same session has the same records in memory, in a file and on a cluster, where it may lose
// its process at any moment.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openJournal, readJournal } from '@halting/journal'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sameOf } from './support/course.ts'
import { playHere, type Played } from './support/play.ts'
import { playOnFake } from './support/play-on-fake.ts'
import { problemsOf } from './support/problems.ts'
import { randomOf } from './support/random.ts'
import { randomSession } from './support/random-plan.ts'

const depth = process.env['HALTING_DEEP']
const count = depth === 'all' ? 500 : depth === '1' ? 50 : 10
const patienceMs = 60_000 + count * 5_000

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'halting-same-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function playInFile(seed: number): Promise<Played> {
  const path = join(folder, `${seed}.jsonl`)
  const journal = await openJournal({ path, sessionId: 'played', cwd: '/', version: '1' })
  const { reasons, effects } = await playHere(randomSession(seed), journal)
  await journal.close()
  const { runs } = await readJournal(path)
  return { records: runs.flat(), reasons, effects }
}

test(
  `${count} random sessions have the same records and endings in memory, in a file and on a cluster`,
  async () => {
    for (let seed = 1; seed <= count; seed++) {
      const session = randomSession(seed)
      const inMemory = await playHere(session)
      const inFile = await playInFile(seed)
      const onCluster = await playOnFake(session)
      expect(sameOf(seed, inFile)).toEqual(sameOf(seed, inMemory))
      expect(sameOf(seed, onCluster)).toEqual(sameOf(seed, inMemory))
    }
  },
  patienceMs,
)

test(
  `${count} random sessions reach the same endings although they lose their process again and again`,
  async () => {
    for (let seed = 1; seed <= count; seed++) {
      const random = randomOf(seed)
      const session = randomSession(seed)
      const inMemory = await playHere(session)
      const kills = Array.from({ length: 1 + random(8) }, () => random(60))
      const onCluster = await playOnFake(session, kills)
      expect({ seed, problems: problemsOf(onCluster) }).toEqual({ seed, problems: [] })
      // Payments of a dead process may be charged, and messages sent during its time may not have arrived.
      const { turns, maxBudgetUsd } = session.plan
      const mayDiffer = maxBudgetUsd !== null || turns.flat().some((kind) => kind === 'Stop' || kind === 'Interrupt')
      const reasons = mayDiffer ? inMemory.reasons : onCluster.reasons
      expect({ seed, reasons }).toEqual({ seed, reasons: inMemory.reasons })
    }
  },
  patienceMs,
)

const few = Math.ceil(count / 3)

test(
  `${few} random sessions that continue in a new invocation at any iteration have the same records and endings`,
  async () => {
    let cuts = 0
    for (let seed = 1; seed <= few; seed++) {
      const random = randomOf(seed)
      const session = randomSession(seed)
      const inMemory = await playHere(session)
      const renewAfter = { records: 1 + random(12), bytes: 500 + random(20_000) }
      const onCluster = await playOnFake(session, [], undefined, renewAfter)
      expect(sameOf(seed, onCluster)).toEqual(sameOf(seed, inMemory))
      cuts += onCluster.invocations - session.prompts
      const kills = Array.from({ length: 1 + random(8) }, () => random(60))
      const killed = await playOnFake(session, kills, undefined, renewAfter)
      expect({ seed, problems: problemsOf(killed) }).toEqual({ seed, problems: [] })
    }
    expect(cuts).toBeGreaterThan(few)
  },
  patienceMs,
)
