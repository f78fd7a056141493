// Tests R-CALLS-1 to R-CALLS-3, R-TELL-1, R-TELL-2, R-STAND-1 to R-STAND-5, for any tree of agents and a kill at any record.
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { innermostEvent } from '../../src/state/event-figures.ts'
import { hashText } from '../../src/values/hash.ts'
import {
  createMemorySteps,
  replay,
  resume,
  startRun,
  streamRun,
  type AgentTool,
  type RunEvent,
  type RunOptions,
  type RunState,
  type StandingBudgets,
  type StandingRequest,
  type StepRecord,
} from '../../src/index.ts'
import { createFakeClock, scriptedModel, type FakeClock, type ScriptedReply } from '../../src/testing/index.ts'
import { drawn } from '../support/deep.ts'
import { calls, dollarATokenPrices, json, tool } from '../support/harness.ts'

interface Plan {
  readonly seed: number
  readonly maxToolCalls: number
  readonly maxTurns: number
  /** The maximum number of calls that a message makes. */
  readonly width: number
  readonly wrapUp: boolean
  readonly toolConcurrency: number
  /** US dollars of the standing budget; Infinity means none. */
  readonly standingUsd: number
  /** The amount that another process has reserved for a while. */
  readonly othersUsd: number
}

const plans = fc.record<Plan>({
  seed: fc.integer({ min: 0, max: 1e9 }),
  maxToolCalls: fc.integer({ min: 1, max: 25 }),
  maxTurns: fc.integer({ min: 1, max: 12 }),
  width: fc.integer({ min: 1, max: 5 }),
  wrapUp: fc.boolean(),
  toolConcurrency: fc.constantFrom(1, 2, 10),
  standingUsd: fc.oneof(fc.constant(Infinity), fc.integer({ min: 1_000, max: 60_000 })),
  othersUsd: fc.integer({ min: 0, max: 9_000 }),
})

/** A budget that processes share. A request that exceeds the rest waits in order of arrival, and only settled money refuses. */
class Purse implements StandingBudgets {
  readonly names = ['a purse']
  /** Uses of the budget that must not happen. */
  readonly problems: string[] = []
  settled = 0
  reserved = 0
  /** Reservations that are not settled. */
  open = 0
  readonly #limit: number
  readonly #waiting: (() => boolean)[] = []

  constructor(limit: number) {
    this.#limit = limit
  }

  countsFor(): boolean {
    return true
  }

  /** Another process reserves this amount, and releases it after a while. */
  others(usd: number, clock: FakeClock): void {
    const granted = Math.min(usd, this.#limit - this.settled - this.reserved)
    this.reserved += granted
    clock.after(700, () => {
      this.reserved -= granted
      this.#serve()
    })
  }

  take(
    { usd, leastUsd, mayWait }: StandingRequest,
    { signal, onWait }: Parameters<StandingBudgets['take']>[1],
  ): ReturnType<StandingBudgets['take']> {
    if (leastUsd > usd) this.problems.push(`${leastUsd} is the least of ${usd}`)
    const answer = () => {
      if (this.#limit - this.settled < leastUsd) return this.#refused()
      const left = this.#limit - this.settled - this.reserved
      if (left >= leastUsd) return this.#taken(Math.min(usd, left))
      return mayWait ? undefined : this.#refused()
    }
    const now = this.#waiting.length === 0 || !mayWait ? answer() : undefined
    if (now !== undefined) return now
    onWait({ budget: 'a purse', reservedUsd: this.reserved, holders: this.open })
    return new Promise((resolve, reject) => {
      const serve = (): boolean => {
        const later = answer()
        if (later !== undefined) resolve(later)
        return later !== undefined
      }
      this.#waiting.push(serve)
      signal.addEventListener('abort', () => {
        this.#waiting.splice(this.#waiting.indexOf(serve), 1)
        reject(new Error('aborted'))
      })
    })
  }

  #taken(usd: number) {
    this.reserved += usd
    this.open++
    const settle = (spent: number): void => {
      this.reserved -= usd
      this.settled += spent
      this.open--
      this.check()
      this.#serve()
    }
    this.check()
    return { kind: 'taken', usd, settle } as const
  }

  check(): void {
    const { settled, reserved } = this
    if (settled + reserved > this.#limit) this.problems.push(`${settled} and ${reserved} of ${this.#limit}`)
  }

  #refused() {
    const { settled: settledUsd, reserved: reservedUsd } = this
    const resetsAt = '2026-12-01T00:00:00+01:00'
    const budget = { name: 'a purse', limitUsd: this.#limit, settledUsd, unknownUsd: 0, reservedUsd, resetsAt }
    return { kind: 'refused', budget } as const
  }

  #serve(): void {
    while (this.#waiting[0]?.() === true) this.#waiting.shift()
  }
}

/** Writing calls that began, by their keys. A reading call may have begun during its message, without effect (R-CALLS-1a). */
type StartedCalls = Set<string>

function behaviorAt({ seed }: Plan, place: string, below: number): number {
  return hashText(`${seed}/${place}`) % below
}

function optionsOf(plan: Plan, clock: FakeClock, startedCalls: StartedCalls, purse: Purse | undefined): RunOptions {
  const replyTo = (prompt: string, turn: number): ScriptedReply => {
    const place = `${prompt}/${turn}`
    const depth = prompt.length - 2
    if (turn > (depth === 0 ? 6 : 3) || behaviorAt(plan, `${place} ends`, 7) === 0) return { text: 'answer' }
    const asked = Array.from({ length: 1 + behaviorAt(plan, `${place} width`, plan.width) }, (_each, index) => {
      const kind = behaviorAt(plan, `${place} ${index}`, 6)
      if (kind === 0 && depth < 2) return { name: 'Agent', input: { prompt: `${prompt}${index}` } }
      if (kind === 1 && depth < 2) return { name: 'Beside', input: { prompt: `${prompt}${index}` } }
      if (kind === 2) return { name: 'Nowhere', input: {} }
      return { name: kind === 3 ? 'Write' : 'Read', input: {} }
    })
    return calls(...asked)
  }
  const model = scriptedModel(
    ({ messages, toolChoice }) => {
      const [first] = messages
      const prompt = typeof first?.content === 'string' ? first.content : 'go'
      const turn = messages.filter(({ role }) => role === 'assistant').length
      return toolChoice === 'none' ? { text: 'so far' } : replyTo(prompt, turn)
    },
    { maxOutputTokens: 1_500 },
  )
  const work = async (_input: unknown, { idempotencyKey }: { readonly idempotencyKey: string }): Promise<string> => {
    await new Promise<void>((resolve) => clock.after(behaviorAt(plan, idempotencyKey, 400), resolve))
    return `done ${idempotencyKey}`
  }
  const write: typeof work = (input, context) => {
    startedCalls.add(context.idempotencyKey)
    return work(input, context)
  }
  const agent = (name: string, background: boolean): AgentTool => ({
    name,
    description: '',
    inputSchema: { type: 'object' },
    readOnly: true,
    concurrencySafe: true,
    spawn: ({ prompt }: { readonly prompt: string }) => ({
      prompt,
      maxTurns: 4,
      ...(background && { background }),
      ...(behaviorAt(plan, prompt, 3) === 0 && { maxToolCalls: 2 }),
    }),
  })
  return {
    model,
    clock,
    prices: dollarATokenPrices,
    tools: [agent('Agent', false), agent('Beside', true), tool('Read', work, { readOnly: true }), tool('Write', write)],
    maxTurns: plan.maxTurns,
    maxToolCalls: plan.maxToolCalls,
    toolConcurrency: plan.toolConcurrency,
    maxSubagents: 12,
    wrapUp: plan.wrapUp,
    limitReminders: true,
    ...(purse !== undefined && { standing: purse }),
  }
}

function purseOf(plan: Plan, clock: FakeClock): Purse | undefined {
  if (plan.standingUsd === Infinity) return undefined
  const purse = new Purse(plan.standingUsd)
  purse.others(plan.othersUsd, clock)
  return purse
}

/** Calls that began, of the run and its agents: tool calls, and calls that started agents. */
function startedCallsIn(events: readonly RunEvent[]): number {
  return events.filter((event) => innermostEvent(event).type === 'tool_start').length
}

function expectWithin(plan: Plan, { spent }: RunState, startedCalls: StartedCalls, events: readonly RunEvent[]): void {
  const { toolCalls = 0 } = spent
  expect(toolCalls).toBeLessThanOrEqual(plan.maxToolCalls)
  expect(startedCallsIn(events)).toBeLessThanOrEqual(toolCalls)
  expect(startedCalls.size).toBeLessThanOrEqual(startedCallsIn(events))
}

const line = /^Remaining in this run: (.*)\.$/
const shares = [50, 80, 95]

/** The reminders of limits that the model got, in order. */
function remindersIn({ transcript }: RunState): readonly string[] {
  return transcript.since(0).flatMap((entry) => {
    if (entry.kind !== 'user' || entry.origin !== 'loop' || typeof entry.message.content !== 'string') return []
    return line.test(entry.message.content) ? [entry.message.content] : []
  })
}

/** Each figure is reported when another share of its limit is used, and once for each share. */
function expectReportedOnce(reminders: readonly string[]): void {
  const reportedShares = new Map<string, number>()
  for (const part of reminders.flatMap((text) => line.exec(text)?.[1]?.split('; ') ?? [])) {
    const [, left, limit, figure = ''] = /^(\d+) of (\d+) (.*)$/.exec(part) ?? []
    const used = ((Number(limit) - Number(left)) * 100) / Number(limit)
    const share = shares.filter((each) => used >= each).length
    expect([part, share > (reportedShares.get(figure) ?? 0)]).toEqual([part, true])
    reportedShares.set(figure, share)
  }
}

async function runToEnd(running: ReturnType<typeof streamRun>, purse: Purse | undefined) {
  const events: RunEvent[] = []
  for await (const event of running) events.push(event)
  const { terminal, state } = await running.ended
  expectReportedOnce(remindersIn(state))
  expect([purse?.open ?? 0, purse?.problems ?? []]).toEqual([0, []])
  return { events, terminal, state }
}

async function wholeRun(plan: Plan) {
  const clock = createFakeClock({ autoAdvance: true })
  const steps = createMemorySteps({ clock })
  const startedCalls: StartedCalls = new Set()
  const purse = purseOf(plan, clock)
  const options = { ...optionsOf(plan, clock, startedCalls, purse), steps }
  const outcome = await runToEnd(streamRun(startRun({ prompt: 'go' }), options), purse)
  return { ...outcome, clock, startedCalls, purse, records: json(steps.records) as unknown as readonly StepRecord[] }
}

test('tool calls of a run and its agents never exceed the limit, and each reservation is settled', async () => {
  const reasons = new Map<string, number>()
  let reminded = 0
  await fc.assert(
    fc.asyncProperty(plans, async (plan) => {
      const { events, terminal, state, clock, startedCalls, purse, records } = await wholeRun(plan)
      reasons.set(terminal.reason, (reasons.get(terminal.reason) ?? 0) + 1)
      reminded += remindersIn(state).length
      expectWithin(plan, state, startedCalls, events)
      const isOver = terminal.reason === 'max_tool_calls'
      expect(isOver ? terminal.signal.context['used'] : null).toBe(isOver ? plan.maxToolCalls : null)
      expect(purse?.settled ?? terminal.committedUsd).toBe(terminal.committedUsd)
      const again: StartedCalls = new Set()
      const replayed = await replay(records, optionsOf(plan, clock, again, purse))
      const { error: _, ...ended } = replayed.terminal
      expect([again.size, json(ended)]).toEqual([0, json({ ...terminal, error: undefined })])
      expect(startedCallsIn(replayed.events)).toBe(startedCallsIn(events))
    }),
    { numRuns: drawn(300) },
  )
  // Otherwise the test would try nothing.
  expect([...reasons.keys()]).toContain('max_tool_calls')
  expect(reminded).toBeGreaterThan(0)
}, 120_000)

test('has the same result after a kill at any record', async () => {
  await fc.assert(
    fc.asyncProperty(plans, fc.double({ min: 0, max: 1, noNaN: true }), async (plan, where) => {
      const { clock, records, state } = await wholeRun(plan)
      const cutRecords = records.slice(0, Math.max(1, Math.floor(where * (records.length - 1))))
      const later = createFakeClock({ autoAdvance: true, start: clock.now() })
      const startedCalls: StartedCalls = new Set()
      // The new process does not know what the previous one spent: its purse is full.
      const purse = purseOf(plan, later)
      const resumed = resume(cutRecords, optionsOf(plan, later, startedCalls, purse))
      const outcome = await runToEnd(resumed.loop, purse)
      const onRecord = json(resumed.steps.records) as unknown as readonly StepRecord[]
      const replayed = await replay(onRecord, optionsOf(plan, later, new Set(), purse))
      expectWithin(plan, outcome.state, startedCalls, replayed.events)
      const remindersLater = remindersIn(outcome.state)
      // Background work may have progressed further or less, and its calls with it. A purse is as full as at the beginning.
      const isBeside = replayed.events.some((event) => event.type === 'agent' && event.inBackground === true)
      const isSame = !isBeside && purse === undefined && outcome.state.transcript.length === state.transcript.length
      // A reminder from before the kill is not repeated, and new ones come in the same order.
      expect(remindersLater).toEqual(isSame ? remindersIn(state) : remindersLater)
    }),
    { numRuns: drawn(300) },
  )
}, 120_000)
