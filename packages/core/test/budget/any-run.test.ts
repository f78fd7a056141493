// Tests R-BUD-1 to R-BUD-6, R-BUD-11, R-BUD-12, R-CTX-6, for anything that may spend in a run, in any mixture.
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { noUsage, plainContext, type Compaction } from '../../src/entries/adapters.ts'
import {
  createMemorySteps,
  streamRun,
  resume,
  startRun,
  type AgentTool,
  type ContextManager,
  type RunOptions,
  type Model,
  type ModelRequest,
  type Prices,
  type Usage,
} from '../../src/index.ts'
import { createFakeClock, scriptedModel, type ScriptedReply } from '../../src/testing/index.ts'
import { Ledger, ledgerOf, settingsOf, type StepRecord } from '../../src/entries/steps.ts'
import { calls, hook, json, reader, tool } from '../support/harness.ts'
import { drawn } from '../support/deep.ts'

const dollarsATimes = 1_000
const honestPrices: Prices = {
  cost: (_model, usage) => (usage.input_tokens + 5 * usage.output_tokens) / dollarsATimes,
  worstCase: (_model, { inputTokens, outputTokens }) => (inputTokens + 5 * outputTokens) / dollarsATimes,
}

const behaviours = [
  'text',
  'tool',
  'agents',
  'cut',
  'drop',
  'busy',
  'refused',
  'broken',
  'long',
  'garbage',
  'pause',
] as const
type Behaviour = (typeof behaviours)[number]

interface Plan {
  /** The behaviors of the models, in order, whichever model is asked. */
  readonly script: readonly Behaviour[]
  readonly maxBudgetUsd: number
  readonly maxTokens: number
  /** The share of the worst case that a service bills. */
  readonly share: number
  readonly wrapUp: boolean
  readonly compacts: boolean
  readonly brokenPrices: boolean
}

const plans = fc.record<Plan>({
  script: fc.array(fc.constantFrom(...behaviours), { minLength: 1, maxLength: 14 }),
  maxBudgetUsd: fc.oneof(fc.constant(Infinity), fc.double({ min: 1, max: 90, noNaN: true })),
  maxTokens: fc.oneof(fc.constant(Infinity), fc.integer({ min: 2_000, max: 60_000 })),
  share: fc.double({ min: 0, max: 1, noNaN: true }),
  wrapUp: fc.boolean(),
  compacts: fc.boolean(),
  brokenPrices: fc.boolean(),
})

const garbage: readonly unknown[] = [
  { ...noUsage, input_tokens: 10, output_tokens: -1e9 },
  { ...noUsage, input_tokens: Number.NaN, output_tokens: 1 },
  {},
  { ...noUsage, input_tokens: 10, output_tokens: Infinity },
]

/** A service that bills at most what was requested, and reports that or something else. */
function service(id: string, plan: Plan): Model {
  let callCount = 0
  const replyTo = ({ maxOutputTokens, messages, system }: ModelRequest): ScriptedReply => {
    const behaviour = plan.script[callCount++] ?? 'text'
    const usage = {
      input_tokens: Math.floor((900 + (JSON.stringify(messages).length + system.length) / 4) * plan.share) + 1,
      output_tokens: Math.floor(maxOutputTokens * plan.share),
    }
    switch (behaviour) {
      case 'tool':
        return { ...calls('Write', 'Look'), usage }
      case 'agents':
        return { ...calls('Agent', 'Agent', 'Look'), usage }
      case 'cut':
        return { text: 'part', stopReason: 'max_tokens', usage: { ...usage, output_tokens: maxOutputTokens } }
      case 'drop':
        return { error: { kind: 'connection', message: 'dropped' } }
      case 'busy':
        return { error: { kind: 'overloaded', message: 'busy', status: 529 } }
      case 'refused':
        return { error: { kind: 'prompt_too_long', message: 'too long', status: 413 } }
      case 'broken':
        return { ...calls('Write'), streamError: { kind: 'connection', message: 'x' }, usage }
      case 'pause':
        return { text: 'so far', stopReason: 'pause_turn', usage }
      case 'long':
        return { text: 'é'.repeat(800), usage }
      case 'garbage':
      case 'text':
        return { text: 'answer', usage }
    }
  }
  const model = scriptedModel(replyTo, { id, maxOutputTokens: 6_000, defaultOutputTokens: 3_000 })
  const call: Model['call'] = async (request, options) => {
    const number = callCount
    const reply = await model.call(request, options)
    if (plan.script[number] !== 'garbage') return reply
    // A service can return a value of any type.
    return { ...reply, message: { ...reply.message, usage: garbage[number % garbage.length] as Usage } }
  }
  return { ...model, call }
}

const agent: AgentTool = {
  name: 'Agent',
  description: '',
  inputSchema: { type: 'object' },
  readOnly: true,
  concurrencySafe: true,
  spawn: () => ({ prompt: 'sub', maxTurns: 3 }),
}

function optionsOf(plan: Plan): RunOptions {
  const [model, small] = [service('main', plan), service('small', plan)]
  const asking = (trigger: Compaction['trigger']): Compaction => ({
    trigger,
    async run({ ask }) {
      const messages = [{ role: 'user', content: 'all of it '.repeat(2_000) }] as const
      const question = { model: small, system: 'Summarize.', messages }
      const replies = await Promise.all([ask(question), ask({ ...question, maxOutputTokens: 1_500 })])
      return replies.some(({ kind }) => kind === 'answered')
        ? { kind: 'compacted', messages: [{ role: 'user', content: 'a summary' }], preTokens: 90, postTokens: 9 }
        : { kind: 'gave_up', message: 'no answer' }
    },
  })
  const context: ContextManager = {
    ...plainContext,
    autoCompact: true,
    models: [small],
    beforeRequest: ({ state }) => (state.spent.request % 3 === 2 ? asking('auto') : undefined),
    compact: () => asking('reactive'),
  }
  let priced = 0
  const cost: Prices['cost'] = (id, usage) =>
    plan.brokenPrices && priced++ % 3 === 1 ? Number.NaN : honestPrices.cost(id, usage)
  return {
    model,
    fallbackModel: service('other', plan),
    clock: createFakeClock({ autoAdvance: true }),
    prices: { ...honestPrices, cost },
    tools: [agent, reader('Look', 'x'.repeat(300)), tool('Write', 'y'.repeat(200))],
    hooks: [hook('onStop', (context_) => context_.withState(context_.state().withExecutionContinued('more')))],
    maxTurns: 8,
    maxRetries: 2,
    wrapUp: plan.wrapUp,
    ...(plan.maxBudgetUsd === Infinity ? {} : { maxBudgetUsd: plan.maxBudgetUsd }),
    ...(plan.maxTokens === Infinity ? {} : { maxTotalTokens: plan.maxTokens }),
    ...(plan.compacts ? { context } : {}),
  }
}

/** Checks L1 and L3 of the ledger, and that every figure is a number. */
function expectKept(ledger: Ledger, { maxBudgetUsd, maxTokens }: Plan): void {
  const { settled, reserved, unknown } = ledger.figures()
  for (const amount of [settled, reserved, unknown]) {
    expect(Number.isFinite(amount.nanos) && amount.nanos >= 0).toBe(true)
    expect(Number.isFinite(amount.tokens) && amount.tokens >= 0).toBe(true)
  }
  expect(settled.nanos + reserved.nanos).toBeLessThanOrEqual(maxBudgetUsd * 1e9 + 1)
  expect(settled.tokens + reserved.tokens).toBeLessThanOrEqual(maxTokens)
}

test('never overshoots a limit, whatever is spent by whom and whatever services, prices and the network do', async () => {
  await fc.assert(
    fc.asyncProperty(plans, async (plan) => {
      const options = optionsOf(plan)
      const ledger = ledgerOf(settingsOf(options))
      const running = streamRun(startRun({ prompt: 'go' }), options, { ledger })
      for await (const event of running) {
        expect(event.type).toBeTypeOf('string')
        expectKept(ledger, plan)
      }
      const { terminal, state } = await running.ended
      const { settled, reserved } = ledger.figures()
      // Every reservation was settled, and the run reports what the ledger contains.
      expect([reserved, settled.tokens]).toEqual([{ nanos: 0, tokens: 0 }, state.spent.totalTokens])
      expect(settled.nanos).toBe(state.spent.nanos + state.spent.unknownNanos)
      expect(terminal.committedUsd).toBeLessThanOrEqual(plan.maxBudgetUsd + 1e-9)
      expect(terminal.costUsd).toBeLessThanOrEqual(terminal.committedUsd)
      expect(json(state.spent)).toEqual(state.spent)
    }),
    { numRuns: drawn(300) },
  )
})

test('never overshoots a limit over a crash at any record', async () => {
  await fc.assert(
    fc.asyncProperty(plans, fc.double({ min: 0, max: 1, noNaN: true }), async (plan, where) => {
      const options = optionsOf(plan)
      const steps = createMemorySteps({ clock: options.clock! })
      await streamRun(startRun({ prompt: 'go' }), { ...options, steps }).ended
      const records = json(steps.records) as unknown as readonly StepRecord[]
      // The process dies during a request or a tool call. What had begun may have been billed.
      const intentIndexes = records.flatMap(({ type }, index) => (type === 'intent' ? [index + 1] : []))
      const cut = records.slice(0, intentIndexes[Math.floor(where * (intentIndexes.length - 1))])
      const { terminal, state } = await resume(cut, optionsOf(plan)).loop.ended
      expect(terminal.committedUsd).toBeLessThanOrEqual(plan.maxBudgetUsd + 1e-9)
      expect(state.spent.totalTokens).toBeLessThanOrEqual(plan.maxTokens)
      expect(json(state.spent)).toEqual(state.spent)
    }),
    { numRuns: drawn(300) },
  )
})
