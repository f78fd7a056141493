// Tests R-LIVE-6a and R-TERM-24: the figures of an ended run are those of its ending, however it ended.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { openJournal } from '../../src/open-journal.ts'
import { createSession, type Session } from '@halting/core/session'
import { agentTool, allowAll, ConfigurationError, type Prices, tool } from '@halting/core'
import { scriptedModel } from '@halting/core/testing'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'

const sessionId = '00000000-0000-4000-8000-000000000002'
const usage = { input_tokens: 1, output_tokens: 9 }
const prices: Prices = {
  cost: (_model, { input_tokens: input, output_tokens: output }) => (input + output) / 1_000,
  worstCase: (_model, { inputTokens, outputTokens }) => (inputTokens + outputTokens) / 1_000,
}
const look = tool({ name: 'Look', description: '', readOnly: true, execute: async () => 'seen' })
const nap = tool({ name: 'Nap', description: '', readOnly: true, execute: () => setTimeout(3, 'slept') })
const helper = agentTool({
  name: 'Help',
  description: '',
  inputSchema: { type: 'object', properties: {} },
  spawn: () => ({ prompt: 'please look' }),
})

const words = ['say', 'look', 'nap', 'help', 'hang', 'break', 'refuse'] as const
const step = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...words) },
  { weight: 4, arbitrary: fc.constantFrom('interrupt', 'stop') },
  { weight: 3, arbitrary: fc.constantFrom('resume', 'compact', 'open again', 'wait') },
  { weight: 3, arbitrary: fc.constantFrom('1 turn', '2 turns', '30 tokens', '$0.3', 'none') },
)

function model() {
  return scriptedModel(
    ({ messages }) => {
      const last = JSON.stringify(messages.at(-1))
      const word = words.find((each) => last.includes(`please ${each}`))
      const before = () => setTimeout(1)
      switch (word) {
        case 'look':
          return { toolCalls: [{ name: 'Look', input: {} }], usage, before }
        case 'nap':
          return { toolCalls: [{ name: 'Nap', input: {} }], usage }
        case 'help':
          return { toolCalls: [{ name: 'Help', input: {} }] }
        case 'hang':
          return { hang: true }
        case 'break':
          return { error: { kind: 'invalid_request', message: 'No.', status: 400 } }
        case 'refuse':
          return { text: 'No.', stopReason: 'refusal', usage }
        default:
          return { text: 'Yes.', usage, before }
      }
    },
    { maxOutputTokens: 100 },
  )
}

async function opened(path: string): Promise<Session> {
  const journal = await openJournal({ path, sessionId, cwd: tmpdir(), version: '1' })
  const permissions = { mode: 'default' }
  const tools = [look, nap, helper]
  return createSession({
    options: { model: model(), prices, sessionId, tools, permissions: allowAll, maxBudgetUsd: 50 },
    journal,
    answersQuestions: false,
    permissions,
    cwd: tmpdir(),
    end: async () => undefined,
    closeJournal: () => journal.close(),
  })
}

const limits = {
  '1 turn': { maxTurns: 1 },
  '2 turns': { maxTurns: 2 },
  '30 tokens': { maxTotalTokens: 30 },
  '$0.3': { maxBudgetUsd: 0.3 },
  none: { maxTurns: null, maxTotalTokens: null, maxBudgetUsd: null },
} as const

function make(session: Session, what: string): unknown {
  switch (what) {
    case 'interrupt':
      return session.interrupt({ queue: 'give_back' })
    case 'stop':
      return session.stop()
    case 'resume':
      return session.resume()
    case 'compact':
      return session.compact()
    case 'wait':
      return setTimeout(4)
    default:
      return what in limits
        ? // It is in `limits`: checked right above.
          session.set({ limits: limits[what as keyof typeof limits] })
        : session.prompt(`please ${what}`)
  }
}

/** The figures of the session, and those of its last ending. */
function bothOf({ snapshot: { figures, last } }: Session): readonly (readonly unknown[])[] {
  const { turns, settledUsd, unknownUsd, reservedUsd, settledTokens, reservedTokens, usedMs } = figures
  const shown = [turns, settledUsd, unknownUsd.toFixed(6), reservedUsd, settledTokens, reservedTokens, usedMs]
  if (last === undefined) return [shown, [0, 0, '0.000000', 0, 0, 0, 0]]
  const { summary, costUsd, committedUsd, totalTokens, durationMs } = last
  return [shown, [summary.turns, committedUsd, (committedUsd - costUsd).toFixed(6), 0, totalTokens, 0, durationMs]]
}

test('has the figures of the ending last', { timeout: 120_000 }, async () => {
  const reasons = new Set<string>()
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 16 }), async (steps) => {
      const folder = mkdtempSync(join(tmpdir(), 'halting-figures-'))
      const path = join(folder, `${sessionId}.jsonl`)
      let session = await opened(path)
      const check = async (at: string): Promise<void> => {
        const hasRun = session.snapshot.last !== undefined || session.snapshot.status !== 'idle'
        // Only a person ends a hanging call.
        const ending = globalThis.setTimeout(() => session.interrupt({ queue: 'give_back' }), 40)
        await session.settled()
        clearTimeout(ending)
        const [shown, said] = bothOf(session)
        expect([at, hasRun, shown]).toEqual([at, hasRun, said])
        reasons.add(session.snapshot.last?.reason ?? '')
      }
      try {
        for (const [index, what] of steps.entries()) {
          try {
            if (what === 'open again') {
              await check(`${index} close`)
              await session.close()
              session = await opened(path)
              await check(`${index} opened`)
            } else await make(session, what)
          } catch (error) {
            if (!(error instanceof ConfigurationError)) throw error
          }
          if (index % 3 === 2) await check(`${index} ${what}`)
        }
        await check('end')
        await session.close()
      } finally {
        rmSync(folder, { recursive: true })
      }
    }),
    {
      numRuns: Number(process.env['RUNS'] ?? 60),
      // A random sequence may miss one of the endings.
      examples: [[['say']], [['1 turn', 'look']], [['hang']], [['break']]],
    },
  )
  expect([...reasons]).toEqual(expect.arrayContaining(['completed', 'max_turns', 'aborted_streaming', 'model_error']))
})
