// Tests R-LIVE-5, R-LIVE-6, R-LIVE-6b, R-LIVE-8 and R-AFTER-3 of docs/spec: the cost of a session is that of its
// requests, whatever is done with it in between.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { openJournal } from '../../src/open-journal.ts'
import { createSession, type Session, type SessionEvent } from '@halting/core/session'
import { allowAll, ConfigurationError, type Prices, tool } from '@halting/core'
import { afterRun, type Stage } from '@halting/core/after'
import { scriptedModel } from '@halting/core/testing'
import * as fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { drawn } from '../../../core/test/support/deep.ts'

const sessionId = '00000000-0000-4000-8000-000000000001'
const usage = { input_tokens: 1, output_tokens: 9 }
const look = tool({ name: 'Look', description: '', readOnly: true, execute: async () => 'seen' })
/** A thousandth of a dollar per token, for input and output. */
const prices: Prices = {
  cost: (_model, { input_tokens: input, output_tokens: output }) => (input + output) / 1_000,
  worstCase: (_model, { inputTokens, outputTokens }) => (inputTokens + outputTokens) / 1_000,
}

const asks: Stage = {
  name: 'notes',
  limits: { maxBudgetUsd: 20 },
  async run({ ask }) {
    await setTimeout(2)
    await ask({ prompt: 'And now?' })
    await setTimeout(2)
    return { kind: 'done' }
  },
}

const step = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom('prompt', 'looks', 'follow') },
  { weight: 2, arbitrary: fc.constantFrom('resume', 'rewind', 'compact', 'open again', 'wait') },
  { weight: 2, arbitrary: fc.constantFrom('1 turn', 'no turns', '$0.3', '$2', '$ none') },
)

async function opened(path: string, spent: { usd: number }, withStages: boolean) {
  const journal = await openJournal({ path, sessionId, cwd: tmpdir(), version: '1' })
  const model = scriptedModel(
    ({ messages }) => {
      spent.usd += 0.01
      const last = JSON.stringify(messages.at(-1))
      return last.includes('look around')
        ? { toolCalls: [{ name: 'Look', input: {} }], usage }
        : { text: 'Yes.', usage }
    },
    { maxOutputTokens: 100 },
  )
  const session = createSession({
    options: { model, prices, sessionId, tools: [look], permissions: allowAll, maxBudgetUsd: 50 },
    journal,
    answersQuestions: false,
    permissions: { mode: 'default' },
    cwd: tmpdir(),
    end: async () => undefined,
    closeJournal: () => journal.close(),
    ...(withStages && {
      async afterRun(engine, signal) {
        await afterRun(engine, [asks], { signal }).ended
      },
    }),
  })
  const events: SessionEvent[] = []
  session.listen((event) => events.push(event))
  return { session, events }
}

function make(session: Session, what: string): void | Promise<unknown> {
  switch (what) {
    case 'prompt':
      return void session.prompt('say')
    case 'looks':
      return void session.prompt('look around')
    case 'follow':
      return void session.prompt('say', { when: 'later' })
    case 'resume':
      return session.resume()
    case 'compact':
      return session.compact()
    case '1 turn':
      return session.set({ limits: { maxTurns: 1 } })
    case 'no turns':
      return session.set({ limits: { maxTurns: null } })
    case '$0.3':
      return session.set({ limits: { maxBudgetUsd: 0.3 } })
    case '$2':
      return session.set({ limits: { maxBudgetUsd: 2 } })
    case '$ none':
      return session.set({ limits: { maxBudgetUsd: null } })
    case 'wait':
      return session.settled()
    default:
  }
}

test.each([false, true])(
  "counts every request once in the session's total (with stages after runs: %s)",
  async (stages) => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 20 }), async (steps) => {
        const folder = mkdtempSync(join(tmpdir(), 'halting-money-'))
        const spent = { usd: 0 }
        const path = join(folder, `${sessionId}.jsonl`)
        let { session, events } = await opened(path, spent, stages)
        const check = async (at: string): Promise<void> => {
          await session.settled()
          expect([at, session.snapshot.figures.sessionUsd.toFixed(3)]).toEqual([at, spent.usd.toFixed(3)])
        }
        try {
          for (const [index, what] of steps.entries()) {
            try {
              if (what === 'open again') {
                await check(`${index} close`)
                await session.close()
                ;({ session, events } = await opened(path, spent, stages))
              } else if (what === 'rewind') {
                // Between runs, whatever follows them.
                while (session.snapshot.status !== 'idle') await setTimeout(0)
                const ids = events.flatMap((event) => (event.type === 'run_start' ? event.ids : []))
                await session.rewind({ before: ids.at(-1) ?? 'none' })
              } else await make(session, what)
            } catch (error) {
              if (!(error instanceof ConfigurationError)) throw error
            }
            if (index % 3 === 0) await check(`${index} ${what}`)
          }
          await check('end')
          await session.close()
          ;({ session } = await opened(path, spent, stages))
          await check('opened again')
          await session.close()
        } finally {
          rmSync(folder, { recursive: true })
        }
      }),
      { numRuns: drawn(360) },
    )
  },
  120_000,
)

test('applies a lowered budget to work after a run, which counts as spent', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'halting-money-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const spent = { usd: 0 }
  const { session, events } = await opened(join(folder, `${sessionId}.jsonl`), spent, true)
  session.prompt('say')
  while (session.snapshot.status !== 'idle') await setTimeout(0)
  expect(session.snapshot.figures.sessionUsd).toBe(0.01)
  await session.settled()
  expect([spent.usd, session.snapshot.figures.leftUsd]).toEqual([0.02, 49.98])
  await Promise.resolve()
  // Also emitted as an event, for anyone who displays the figures.
  expect(events.at(-1)?.type).toBe('changed')
  session.prompt('say')
  const ends = (): number => events.filter(({ type }) => type === 'run_end').length
  while (ends() < 2) await setTimeout(0)
  session.set({ limits: { maxBudgetUsd: 0.032 } })
  await session.settled()
  expect(spent.usd.toFixed(3)).toBe('0.030')
  await session.close()
})
