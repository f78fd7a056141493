// Holds rules of docs/spec: R-STAND-18, R-STAND-19, R-STAND-25, R-STAND-26: which sessions take from standing budgets.
import { existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type StandingBudgets, Transcript } from '@halting/core'
import { scriptedModel } from '@halting/core/testing'
import { codingAgent, type CodingAgentOptions } from '@halting/agent'
import { openSession } from '@halting/agent/open-session'
import { createPrices } from '@halting/models'
import { expect, test } from 'vitest'
import type { SessionFrontend } from '../../src/open-session/session-options.ts'
import type { SessionPorts } from '../../src/open-session/ports.ts'
import { tempFolder } from './support.ts'

const model = 'claude-sonnet-5-5'
const usage = { input_tokens: 1_000, output_tokens: 100 }

function place(settings: object) {
  const root = realpathSync(tempFolder())
  const [cwd, home] = [join(root, 'work'), join(root, 'home')]
  mkdirSync(cwd)
  mkdirSync(join(home, '.halting'), { recursive: true })
  writeFileSync(join(home, '.halting/settings.json'), JSON.stringify(settings))
  const ledger = join(home, '.halting/budgets/ledger.json')
  const spentNanos = (): number => {
    const { scopes } = JSON.parse(readFileSync(ledger, 'utf8')) as {
      scopes: Record<string, Record<string, { spentNanos: number; leasedNanos: number }>>
    }
    const [{ spentNanos: spent, leasedNanos } = { spentNanos: 0, leasedNanos: 0 }] = Object.values(scopes['day'] ?? {})
    expect(leasedNanos).toBe(spent)
    return spent
  }
  return { root, cwd, env: { HOME: home, PATH: process.env['PATH'] }, ledger, spentNanos }
}

async function runOnce(
  { cwd, env }: ReturnType<typeof place>,
  options: Partial<CodingAgentOptions> = {},
  replies: Parameters<typeof scriptedModel>[0] = [{ text: 'Done.', usage }],
) {
  const notes: string[] = []
  const onNote = (note: string): void => void notes.push(note)
  const opening = { cwd, env, model: scriptedModel(replies, { id: model }), onNote, ...options }
  const builder = await codingAgent(opening)
  let reason = ''
  try {
    const engine = await builder.engine()
    for await (const message of engine.submit('hi'))
      if (message.type === 'result') reason = message.stop?.reason ?? 'completed'
  } finally {
    await builder.dispose()
  }
  return { reason, notes }
}

test('charges a session of codingAgent and its agents to the budgets of the settings', async () => {
  const at = place({ budgets: [{ per: 'day', usd: 20 }] })
  expect(await runOnce(at)).toEqual({ reason: 'completed', notes: [] })
  const alone = at.spentNanos()
  expect(alone).toBeGreaterThan(0)
  const task = { name: 'Agent', input: { description: 'd', prompt: 'p', subagent_type: 'general-purpose' } }
  await runOnce(at, {}, [
    { toolCalls: [task], usage },
    { text: 'Of the agent.', usage },
    { text: 'Done.', usage },
  ])
  expect(at.spentNanos()).toBe(4 * alone)
})

test('ends the next run when a budget is exhausted, unless the program ignores it, and counts anyway', async () => {
  const at = place({ budgets: [{ per: 'day', usd: 0.06 }] })
  while ((await runOnce(at)).reason === 'completed');
  const spent = at.spentNanos()
  expect(await runOnce(at)).toEqual({ reason: 'max_budget_usd', notes: [] })
  expect(await runOnce(at, { ignoreStandingBudgets: true })).toEqual({
    reason: 'completed',
    notes: ['standing budgets are ignored: $0.06 a day'],
  })
  expect(at.spentNanos()).toBeGreaterThan(spent)
})

test('replaces the budgets of the settings by those of the program', async () => {
  const at = place({ budgets: [{ per: 'day', usd: 0.000_001 }] })
  const asked: string[] = []
  const standing: StandingBudgets = {
    names: ['mine'],
    countsFor: () => true,
    take(request) {
      asked.push(request.model)
      return { kind: 'taken', usd: request.usd, settle() {} }
    },
  }
  expect((await runOnce(at, { standing, prices: createPrices() })).reason).toBe('completed')
  expect(asked).toEqual([model])
  expect(existsSync(at.ledger)).toBe(false)
})

test('creates nothing without budgets or user settings', async () => {
  const at = place({ budgets: [{ per: 'day', usd: 0.000_001 }] })
  expect((await runOnce(at, { settingSources: ['project'] })).reason).toBe('completed')
  expect(existsSync(at.ledger)).toBe(false)
})

test('charges nothing for a session stored by another program, such as a cluster', async () => {
  const at = place({ budgets: [{ per: 'day', usd: 20 }], modelPrices: {} })
  const script = join(at.root, 'script.json')
  writeFileSync(script, JSON.stringify({ model, replies: [{ content: ['Hello.'] }] }))
  const kept: NonNullable<SessionFrontend['kept']> = {
    sessionId: '11111111-2222-4333-8444-555555555555',
    path: '',
    open: undefined,
    ended: [],
    stages: [],
    transcript: Transcript.empty(),
    log: { keeps: 'nothing', append() {}, async flush() {} },
    rewind: () => Promise.reject(new Error('no')),
    messageOf: () => Promise.reject(new Error('no')),
  }
  const ports: SessionPorts = {
    cwd: at.cwd,
    env: at.env,
    version: () => '0',
    trustedBy: false,
    hiddenVariables: [],
    nameOf: (option) => option,
    wordNotice: ({ kind }) => kind,
    note() {},
  }
  const run = async (frontend: Partial<SessionFrontend>): Promise<void> => {
    const live = await openSession({ choices: { script }, ports, answersQuestions: false, ...frontend })
    try {
      live.session.prompt('hi')
      await live.session.settled()
    } finally {
      await live.session.close()
    }
  }
  await run({ kept })
  expect(existsSync(at.ledger)).toBe(false)
  await run({})
  expect(at.spentNanos()).toBeGreaterThan(0)
})
