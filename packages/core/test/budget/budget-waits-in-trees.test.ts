// Tests R-BUD-18 for any tree of agents: each waiting request is paid or refused in the end, and no run ends for money that was released.
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { hashText } from '../../src/values/hash.ts'
import {
  createMemorySteps,
  streamRun,
  ModelError,
  resume,
  startRun,
  type AgentTool,
  type RunStream,
  type RunEvent,
  type RunOptions,
  type Model,
  type Prices,
  type RunResult,
  type Tool,
} from '../../src/index.ts'
import { Ledger, ledgerOf, settingsOf, type StepRecord } from '../../src/entries/steps.ts'
import { createFakeClock, scriptedModel, type FakeClock, type ScriptedReply } from '../../src/testing/index.ts'
import { calls, json } from '../support/harness.ts'
import { drawn } from '../support/deep.ts'

const prices: Prices = {
  cost: (_model, usage) => (usage.input_tokens + 5 * usage.output_tokens) / 1_000,
  worstCase: (_model, { inputTokens, outputTokens }) => (inputTokens + 5 * outputTokens) / 1_000,
}

interface Plan {
  readonly seed: number
  readonly maxBudgetUsd: number
  readonly maxTokens: number
  /** The number of agents that a message asks for. */
  readonly width: number
  /** The share of the worst case that a service bills. */
  readonly share: number
  readonly wrapUp: boolean
  /** When a person aborts the run, in milliseconds. */
  readonly abortAfterMs: number | undefined
  /** The agents have their own limits. */
  readonly isLimited: boolean
}

const plans = fc.record<Plan>({
  seed: fc.integer({ min: 0, max: 1e9 }),
  maxBudgetUsd: fc.oneof(fc.double({ min: 20, max: 120, noNaN: true }), fc.constant(Infinity)),
  maxTokens: fc.oneof(fc.integer({ min: 8_000, max: 60_000 }), fc.constant(Infinity)),
  width: fc.integer({ min: 1, max: 6 }),
  share: fc.double({ min: 0, max: 1, noNaN: true }),
  wrapUp: fc.boolean(),
  abortAfterMs: fc.option(fc.integer({ min: 0, max: 4_000 }), { nil: undefined }),
  isLimited: fc.boolean(),
})

/** The same behavior for the same place in the tree, in whatever order its agents start. */
function behaviorAt({ seed }: Plan, place: string, below: number): number {
  return hashText(`${seed}/${place}`) % below
}

function optionsOf(plan: Plan, clock: FakeClock): RunOptions {
  const inner = scriptedModel(
    (request): ScriptedReply => {
      const { messages, maxOutputTokens } = request
      const [first] = messages
      const prompt = typeof first?.content === 'string' ? first.content : 'a question'
      const place = `${prompt}/${messages.length}`
      const usage = {
        input_tokens: Math.floor((900 + JSON.stringify(messages).length / 4) * plan.share) + 1,
        output_tokens: Math.floor(maxOutputTokens * plan.share),
      }
      const agents = Array.from({ length: plan.width }, (_each, index) => ({
        name: 'Agent',
        input: { prompt: `${prompt}${index}` },
      }))
      if (messages.length === 1 && prompt === 'go') return { ...calls(...agents), usage }
      if (messages.length > 7) return { text: 'enough', usage }
      switch (behaviorAt(plan, place, 9)) {
        case 0:
          return { ...calls(...agents.slice(0, 2)), usage }
        case 1:
          return { ...calls('Ask', 'Ask'), usage }
        case 2:
          return { error: { kind: 'connection', message: 'dropped' } }
        case 3:
          return { error: { kind: 'overloaded', message: 'busy', status: 529 } }
        case 4:
          return { ...calls('Ask'), streamError: { kind: 'connection', message: 'x' }, usage }
        default:
          return { text: 'answer', usage }
      }
    },
    { maxOutputTokens: 3_000 },
  )
  const call: Model['call'] = async (request, options) => {
    const delayMs = behaviorAt(plan, `${JSON.stringify(request.messages).length}/${request.idempotencyKey}`, 500)
    await new Promise<void>((resolve, reject) => {
      const cancel = clock.after(delayMs, resolve)
      const leave = (): void => {
        cancel()
        reject(new ModelError({ kind: 'connection', message: 'left', retryable: false }))
      }
      if (options.signal.aborted) return leave()
      options.signal.addEventListener('abort', leave, { once: true })
    })
    return inner.call(request, options)
  }
  const agent: AgentTool = {
    name: 'Agent',
    description: '',
    inputSchema: { type: 'object' },
    readOnly: true,
    concurrencySafe: true,
    spawn: ({ prompt }: { readonly prompt: string }) => ({
      prompt,
      maxTurns: 3,
      ...(plan.isLimited && behaviorAt(plan, prompt, 3) === 0 && { maxBudgetUsd: 18 }),
      ...(plan.isLimited && behaviorAt(plan, prompt, 4) === 1 && { maxTotalTokens: 7_000 }),
      ...(plan.isLimited && behaviorAt(plan, prompt, 5) === 2 && { maxDurationMs: 600 }),
    }),
  }
  const asking: Tool = {
    name: 'Ask',
    description: '',
    inputSchema: { type: 'object' },
    readOnly: true,
    asksModel: true,
    execute: async (_input, { ask }) => {
      const question = { system: '', messages: [{ role: 'user', content: 'a question' }] as const, timeoutMs: 300 }
      const replies = await Promise.all([ask!(question), ask!({ ...question, system: 'other' })])
      return replies.map(({ kind }) => kind).join()
    },
  }
  return {
    model: { ...inner, call },
    clock,
    prices,
    tools: [agent, asking],
    maxTurns: 4,
    maxRetries: 2,
    maxSubagents: 20,
    wrapUp: plan.wrapUp,
    ...(plan.maxBudgetUsd === Infinity ? {} : { maxBudgetUsd: plan.maxBudgetUsd }),
    ...(plan.maxTokens === Infinity ? {} : { maxTotalTokens: plan.maxTokens }),
  }
}

/** The events of a run and its agents, with agents unfolded. */
function unfolded(event: RunEvent): RunEvent {
  return event.type === 'agent' ? unfolded(event.event) : event
}

/** Waits for the end of a run that only the fake clock drives. A run that waits for nothing and has not ended hangs. */
async function endOf(running: RunStream, clock: FakeClock): Promise<Awaited<RunStream['ended']>> {
  let ended: Awaited<RunStream['ended']> | undefined
  void running.ended.then((runEnd) => (ended = runEnd))
  let idle = 0
  while (idle < 500) {
    if (ended !== undefined) return ended
    await new Promise((resolve) => setImmediate(resolve))
    idle = clock.pending === 0 ? idle + 1 : 0
  }
  throw new Error('The run hangs.')
}

/** An ending for lack of room reports the settled amount, which leaves no room. */
function expectInvariants(terminal: RunResult): void {
  if (
    terminal.signal.source !== 'ledger' ||
    (terminal.signal.context['needed'] === undefined && terminal.signal.context['neededUsd'] === undefined)
  )
    return
  const { context } = terminal.signal
  const figure = (name: string): number => Number(context[name])
  if (terminal.reason === 'max_budget_usd')
    expect(figure('usedUsd') + figure('neededUsd')).toBeGreaterThan(figure('limitUsd'))
  if (terminal.reason === 'token_limit') expect(figure('used') + figure('needed')).toBeGreaterThan(figure('limit'))
}

async function runToEnd(running: RunStream, ledger: Ledger | undefined, plan: Plan, clock: FakeClock) {
  const terminals: RunResult[] = []
  let waiting = 0
  let waits = 0
  const read = (async () => {
    for await (const each of running) {
      const event = unfolded(each)
      if (event.type === 'run_end') terminals.push(event.terminal)
      if (event.type === 'budget_wait') waiting += event.isWaiting ? 1 : -1
      if (event.type === 'budget_waited') waits += 1
      if (ledger === undefined) continue
      const { settled, reserved } = ledger.figures()
      expect(settled.nanos + reserved.nanos).toBeLessThanOrEqual(plan.maxBudgetUsd * 1e9 + 1)
      expect(settled.tokens + reserved.tokens).toBeLessThanOrEqual(plan.maxTokens)
    }
  })()
  if (plan.abortAfterMs !== undefined) clock.after(plan.abortAfterMs, () => running.abort('user'))
  const { terminal, state } = await endOf(running, clock)
  await read
  expect(waiting).toBe(0)
  for (const each of terminals) expectInvariants(each)
  expect(terminal.committedUsd).toBeLessThanOrEqual(plan.maxBudgetUsd + 1e-9)
  return { terminal, state, waits }
}

test('pays or refuses each waiting request, and ends no run for money that was released', async () => {
  let waits = 0
  await fc.assert(
    fc.asyncProperty(plans, async (plan) => {
      const clock = createFakeClock({ autoAdvance: true })
      const options = optionsOf(plan, clock)
      const ledger = ledgerOf(settingsOf(options))
      const outcome = await runToEnd(streamRun(startRun({ prompt: 'go' }), options, { ledger }), ledger, plan, clock)
      waits += outcome.waits
      const { settled, reserved } = ledger.figures()
      expect([reserved, ledger.queue.length]).toEqual([{ nanos: 0, tokens: 0 }, 0])
      const { spent } = outcome.state
      expect([settled.nanos, settled.tokens]).toEqual([spent.nanos + spent.unknownNanos, spent.totalTokens])
    }),
    { numRuns: drawn(600) },
  )
  // Otherwise the test would try nothing.
  expect(waits).toBeGreaterThan(0)
}, 60_000)

test('has the same result after a kill at any record', async () => {
  await fc.assert(
    fc.asyncProperty(plans, fc.double({ min: 0, max: 1, noNaN: true }), async (plan, where) => {
      const clock = createFakeClock({ autoAdvance: true })
      const options = optionsOf(plan, clock)
      const steps = createMemorySteps({ clock })
      await runToEnd(streamRun(startRun({ prompt: 'go' }), { ...options, steps }), undefined, plan, clock)
      const records = json(steps.records) as unknown as readonly StepRecord[]
      const later = createFakeClock({ autoAdvance: true, start: clock.now() })
      const cutRecords = records.slice(0, Math.max(1, Math.floor(where * (records.length - 1))))
      const { terminal } = await runToEnd(resume(cutRecords, optionsOf(plan, later)).loop, undefined, plan, later)
      expect(terminal.committedUsd).toBeLessThanOrEqual(plan.maxBudgetUsd + 1e-9)
    }),
    { numRuns: drawn(400) },
  )
}, 60_000)
