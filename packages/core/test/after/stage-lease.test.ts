// Tests stages after a run of a session that shares its budget with others (spec R-BUD-17b, R-BUD-17c).
import { expect, test } from 'vitest'
import { afterRun, type Stage } from '../../src/after/index.ts'
import type { BudgetLease, Prices, QueryEngine } from '../../src/index.ts'
import type { StoredSession, StepRecord } from '../../src/entries/steps.ts'
import { foldSession } from '../../src/entries/steps.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { engineOf } from '../support/engine.ts'

/** Prices input and output at a thousandth of a dollar a token. */
const prices: Prices = {
  cost: (_model, usage) => (usage.input_tokens + usage.output_tokens) / 1_000,
  worstCase: (_model, { inputTokens, outputTokens }) => (inputTokens + outputTokens) / 1_000,
}
/** Each answer costs two dollars, and at worst about three. */
const usage = { input_tokens: 1_000, output_tokens: 1_000 }
const model = () =>
  scriptedModel(
    ['done', 'noted', 'noted'].map((text) => ({ text, usage })),
    { maxOutputTokens: 2_000 },
  )
const limits = { maxBudgetUsd: 6, maxTotalTokens: 1e6 }
const asks = (name: string): Stage => ({
  name,
  limits,
  run: async ({ ask }) => ({ kind: 'done', message: (await ask({ prompt: 'And now?' })).text }),
})

/** A lease of a budget of which others have used a part. */
function leaseOf(totalUsd: number) {
  const lease = {
    name: 'cannot use the tenant acme',
    usd: 0,
    asked: [] as number[],
    async growTo(wanted: number): Promise<void> {
      lease.asked.push(wanted)
      lease.usd = Math.min(Math.max(wanted, lease.usd), totalUsd)
    },
  }
  return lease
}

function sessionOf(records: StepRecord[], lease: BudgetLease): StoredSession {
  const log = {
    keeps: 'all',
    append: (record: StepRecord) => void records.push(record),
    flush: () => undefined,
  } as const
  return { ...foldSession([]), log, lease }
}

async function submit(engine: QueryEngine): Promise<void> {
  const messages: unknown[] = []
  for await (const message of engine.submit('go')) messages.push(message)
}

test('requests the maximum of a stage from the lease before the stage starts, also for parallel stages', async () => {
  const lease = leaseOf(1_000)
  const records: StepRecord[] = []
  const { engine } = engineOf([], { model: model(), prices, session: sessionOf(records, lease), sessionId: 'session' })
  await submit(engine)
  const reports = await afterRun(engine, [asks('memory'), asks('hint')]).ended
  expect(reports.map(({ reason, costUsd }) => [reason, costUsd])).toEqual([
    ['completed', 2],
    ['completed', 2],
  ])
  // The run has spent two dollars.
  expect(lease.usd).toBe(2 + 2 * limits.maxBudgetUsd)
  const began = records.flatMap((record) =>
    record.type === 'stage' && record.stage.phase === 'began' ? [record.stage.most.nanos] : [],
  )
  expect(began).toEqual([6e9, 6e9])
})

test('asks nothing in a stage whose lease grants too little, and says why at its end', async () => {
  const { engine } = engineOf([], { model: model(), prices, lease: leaseOf(2.9) })
  await submit(engine)
  const [report] = await afterRun(engine, [asks('memory')]).ended
  expect([report?.reason, report?.committedUsd]).toEqual(['max_budget_usd', 0])
})

test('neither records nor charges a stage that ends while it waits for its lease', async () => {
  const lease = leaseOf(1_000)
  const records: StepRecord[] = []
  const asked = model()
  const { engine } = engineOf([], { model: asked, prices, session: sessionOf(records, lease), sessionId: 'session' })
  await submit(engine)
  const waits = new Promise<void>((isWaiting) => {
    const growTo: BudgetLease['growTo'] = async (_usd, { signal }) => {
      isWaiting()
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
    }
    Object.assign(lease, { growTo })
  })
  const running = afterRun(engine, [asks('memory')])
  await waits
  running.abort()
  const [report] = await running.ended
  expect([report?.committedUsd, asked.requests.length]).toEqual([0, 1])
  expect(records.filter((record) => record.type === 'stage' && record.stage.phase === 'began')).toEqual([])
})
