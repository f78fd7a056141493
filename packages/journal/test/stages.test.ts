// Tests R-AFTER-6 and R-AFTER-7 of docs/spec: stages in the file of a session.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { QueryEngine, type Model } from '@halting/core'
import { afterRun, type Stage } from '@halting/core/after'
import { personsMessages } from '@halting/core/steps'
import { scriptedModel, type ScriptedReply } from '@halting/core/testing'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { forkSession } from '../src/sessions/fork-session.ts'
import { foldedBytes } from '../src/format/fold.ts'
import { hasEnded } from '../src/session-ends.ts'
import { summaryOf } from '@halting/analysis/sessions'
import type { StoredSessionFile } from '../src/sessions/stored-sessions.ts'
import { readJournal } from '../src/read-journal.ts'
import { openJournal } from '../src/open-journal.ts'

let folder: string
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'halting-stages-'))))
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const place = () => ({ path: join(folder, 's.jsonl'), sessionId: 's', cwd: '/work', version: '0' })
const file = (): StoredSessionFile => ({ sessionId: 's', path: place().path, project: 'p', changedAt: new Date(0) })
const prices = { cost: () => 0.25, worstCase: () => 0.25 }
const look = { name: 'Look', description: '', inputSchema: { type: 'object' }, readOnly: true, execute: () => 'x'.repeat(30_000) } as const // prettier-ignore
const looks = (count: number): readonly ScriptedReply[] => Array.from({ length: count }, () => ({ toolCalls: [{ name: 'Look' }] })) // prettier-ignore

const stage = (name = 'memory'): Stage => ({
  name,
  limits: { maxBudgetUsd: 1 },
  run: async ({ ask }) => ({ kind: 'done', message: (await ask({ prompt: 'x' })).text }),
})

async function opened(model: Model) {
  const journal = await openJournal(place())
  const engine = new QueryEngine({ model, tools: [look], prices, session: journal, sessionId: 's' })
  return { journal, engine }
}

async function say(engine: QueryEngine, prompt = 'go') {
  let last
  for await (const message of engine.submit(prompt)) last = message
  return last
}

/** A run with this many calls, and a stage after it. */
async function session(calls: number) {
  const { journal, engine } = await opened(scriptedModel([...looks(calls), 'answer', 'noted']))
  await say(engine, 'first')
  await afterRun(engine, [stage()]).ended
  await journal.close()
}

test.each([0, 30])('restores, counts and lists a stage of a session with %d calls', async (calls) => {
  await session(calls)
  const total = (calls + 2) * 0.25
  expect(await summaryOf(file())).toMatchObject({ firstPrompt: 'first', runs: 1, costUsd: total, ended: 'completed' })
  expect(hasEnded(place().path)).toBe(true)
  const { journal, engine } = await opened(scriptedModel(['third']))
  expect(journal.stages).toMatchObject([{ id: 'run1/after/memory', ended: { reason: 'completed', costUsd: 0.25 } }])
  expect(engine.totalCostUsd).toBe(total)
  expect(await say(engine)).toMatchObject({ type: 'result', total_cost_usd: total + 0.25 })
  await journal.close()
})

test('keeps a stage that ends during the next run out of that run', async () => {
  let release: (() => void) | undefined
  const waits = new Promise<void>((resolve) => (release = resolve))
  const slow: Stage = {
    ...stage('slow'),
    run: async ({ ask }) => {
      const { text } = await ask({ prompt: 'x' })
      await waits
      return { kind: 'done', message: text }
    },
  }
  const before = scriptedModel(['answer', 'noted', ...looks(30), 'second'])
  const { journal, engine } = await opened(before)
  await say(engine)
  const running = afterRun(engine, [slow])
  while (before.requests.length < 2) await new Promise(setImmediate)
  let calls = 0
  for await (const message of engine.submit('more')) {
    if (message.type === 'user' && ++calls === 2) {
      release?.()
      await running.ended
    }
    if (message.type === 'user' && calls === 25) {
      await journal.log.flush()
      // The process is killed here.
      writeFileSync(join(folder, 'killed.jsonl'), readFileSync(place().path))
    }
  }
  await journal.close()
  // It was folded more than once since then.
  expect(readFileSync(join(folder, 'killed.jsonl')).length).toBeGreaterThan(4 * foldedBytes)
  const again = await openJournal(place())
  expect(again.stages).toMatchObject([{ name: 'slow', ended: { reason: 'completed' } }])
  expect([again.ended.length, again.open]).toEqual([2, undefined])
  await again.close()
  const { runs } = await readJournal(join(folder, 'killed.jsonl'))
  expect(runs).toHaveLength(2)
  const killed = await openJournal({ ...place(), path: join(folder, 'killed.jsonl') })
  expect(killed.stages).toMatchObject([{ name: 'slow', ended: { reason: 'completed' } }])
  const engineAfter = new QueryEngine({ model: scriptedModel(['done']), tools: [look], prices, session: killed, sessionId: 's' }) // prettier-ignore
  let result
  for await (const message of engineAfter.resume()) result = message
  expect(result).toMatchObject({ type: 'result', terminal_reason: 'completed' })
  await killed.close()
})

test('resumes a session that was killed in a stage, and reserves what the stage may have cost', async () => {
  await session(0)
  // The file before the end of the stage.
  const lines = readFileSync(place().path, 'utf8').trimEnd().split('\n')
  expect(lines.at(-1)).toContain('"phase":"ended"')
  writeFileSync(place().path, `${lines.slice(0, -1).join('\n')}\n`)
  expect(hasEnded(place().path)).toBe(false)
  expect(await summaryOf(file())).toMatchObject({ costUsd: 0.25, ended: 'completed' })
  const journal = await openJournal(place())
  expect(journal.stages).toMatchObject([{ name: 'memory', ended: null, most: { nanos: 1e9 } }])
  // $0.25 were spent, and up to $1.00 may have been. Of $1.50 one request remains.
  const model = scriptedModel(looks(9))
  const engine = new QueryEngine({ model, tools: [look], prices, session: journal, sessionId: 's', maxBudgetUsd: 1.5 })
  expect(await say(engine)).toMatchObject({ terminal_reason: 'budget_exhausted', num_turns: 1, total_cost_usd: 0.5 })
  await journal.close()
})

test('includes stages in a fork', async () => {
  await session(0)
  const to = { ...place(), path: join(folder, 'fork.jsonl'), sessionId: 'fork' }
  await forkSession(place().path, to)
  const journal = await openJournal(to)
  expect(journal.stages).toMatchObject([{ id: 'run1/after/memory', ended: { costUsd: 0.25 } }])
  await journal.close()
})

test('preserves a stage that ends while the file is read for a rewind', async () => {
  const { journal, engine } = await opened(scriptedModel([...looks(30), 'answer']))
  await say(engine, 'first')
  const [first] = personsMessages(engine.transcript)
  const reading = { isThere: false }
  const found = journal.messageOf(first?.id ?? '').finally(() => (reading.isThere = true))
  const most = { nanos: 1, tokens: 1 }
  const begun: string[] = []
  while (!reading.isThere) {
    begun.push(`run1/after/${begun.length}`)
    const [id = ''] = begun.slice(-1)
    journal.log.append({ type: 'stage', stage: { phase: 'began', id, runId: 'run1', name: 'memory', most } })
    await new Promise(setImmediate)
  }
  await found
  await journal.rewind(first?.id ?? '')
  expect(journal.stages?.map(({ id }) => id)).toEqual(begun)
  await journal.close()
})
