// Tests R-LIVE-2 and R-LIVE-8 of docs/spec: input at an awkward moment is neither lost nor processed twice.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openJournal } from '../../src/open-journal.ts'
import { createSession, type Session, type SessionEvent } from '@halting/core/session'
import { scriptedModel } from '@halting/core/testing'
import { expect, onTestFinished, test } from 'vitest'

const sessionId = '00000000-0000-4000-8000-000000000001'

async function kept(): Promise<{ readonly session: Session; readonly runs: () => readonly string[] }> {
  const folder = mkdtempSync(join(tmpdir(), 'halting-lost-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, `${sessionId}.jsonl`)
  const journal = await openJournal({ path, sessionId, cwd: folder, version: '1' })
  const replies = ['One.', 'Two.', 'Three.', 'Four.'].map((text) => ({ text }))
  const session = createSession({
    options: { model: scriptedModel(replies), sessionId },
    journal,
    answersQuestions: false,
    permissions: { mode: 'default' },
    cwd: folder,
    end: async () => undefined,
    closeJournal: () => journal.close(),
  })
  const events: SessionEvent[] = []
  session.listen((event) => events.push(event))
  const runs = (): readonly string[] =>
    events.flatMap((event) => {
      if (event.type === 'run_start') return [event.ids.join()]
      if (event.type === 'taken') return [`taken ${event.ids.join()}`]
      return event.type === 'run_end' ? [event.terminal.reason] : []
    })
  return { session, runs }
}

test('answers input during a rewind afterwards', async () => {
  const { session, runs } = await kept()
  session.prompt('one', { id: 'm1' })
  await session.settled()
  const back = session.rewind({ before: 'm1' })
  session.prompt('two', { id: 'm2' })
  session.prompt('three', { id: 'm3', when: 'later' })
  session.prompt('four', { id: 'm4', when: 'now' })
  expect((await back).content).toBe('one')
  await session.settled()
  expect(runs()).toEqual(['m1', 'completed', 'm4', 'taken m2', 'taken m3', 'completed'])
  expect(session.snapshot.queue).toEqual([])
  await session.close()
})

test('reports no context usage after a rewind until it is requested (R-LIVE-11)', async () => {
  const { session } = await kept()
  session.prompt('one', { id: 'm1' })
  await session.settled()
  expect(session.snapshot.figures.contextTokens).toBeGreaterThan(0)
  await session.rewind({ before: 'm1' })
  expect(session.snapshot.figures.contextTokens).toBe(0)
  session.prompt('two', { id: 'm2' })
  await session.settled()
  expect(session.snapshot.figures.contextTokens).toBeGreaterThan(0)
  await session.close()
})

test('interrupts nothing for a repeated message, whatever its timing', async () => {
  const { session, runs } = await kept()
  session.prompt('one', { id: 'm1' })
  session.prompt('one', { id: 'm1', when: 'now' })
  await session.settled()
  session.prompt('one', { id: 'm1', when: 'now' })
  await session.settled()
  expect(runs()).toEqual(['m1', 'completed'])
  await session.close()
})

test('compacts nothing again for a repeated command', async () => {
  const { session, runs } = await kept()
  session.prompt('one', { id: 'm1' })
  for (let time = 0; time < 3; time++) {
    session.prompt('/compact', { id: 'm2' })
    await session.settled()
  }
  expect(runs().filter((line) => line === 'm2')).toHaveLength(1)
  await session.close()
})
