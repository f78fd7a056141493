// Tests R-SERV-1 to R-SERV-5b and R-SERV-8, for random sequences of limits and outages, with kills after any record, clocks that are set and
// machines that sleep.
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { plainContext, type ModelErrorInit } from '../../src/entries/adapters.ts'
import { hashText } from '../../src/values/hash.ts'
import {
  ModelError,
  resume,
  startRun,
  streamRun,
  type ContextManager,
  type Model,
  type ModelRequest,
  type RunOptions,
  type RunResult,
  type RunState,
  type StandingBudgets,
} from '../../src/index.ts'
import { longestWaitForLimitsMs } from '../../src/model/service-limit.ts'
import { noUsage } from '../../src/model/messages.ts'
import { DurableStepEngine, type Clock, type StepRecord } from '../../src/entries/steps.ts'
import { createFakeClock, type FakeClock } from '../../src/testing/index.ts'
import { isWhole } from '../support/deep.ts'
import { dollarATokenPrices as prices, json, reader, subagent } from '../support/harness.ts'

const minute = 60_000
const hour = 60 * minute
/** Milliseconds since 1970 by the true clock when a sequence begins. */
const epoch = 1_700_000_000_000
const billed = { ...noUsage, input_tokens: 10, output_tokens: 5 }

/** The behavior of a service for a while. */
interface Window {
  readonly fromMs: number
  readonly forMs: number
  readonly kind: (typeof kinds)[number]
}

/**
 * `limit` and `late` report when it is over, or a later moment. `soon` reports "in 5 s" forever, or less. `untimed` is a
 * limit without a time.
 * The others are outages, some of which report how long. `mixed` is a different one of them each time. `never` is a
 * limit of a year.
 */
const kinds = [
  'limit',
  'late',
  'soon',
  'odd',
  'overloaded',
  'down',
  'slow',
  'refused',
  'mixed',
  'untimed',
  'never',
] as const
/** The kinds that a run with enough waiting time always survives. */
const temporaryKinds: readonly Window['kind'][] = [
  'limit',
  'late',
  'soon',
  'overloaded',
  'down',
  'slow',
  'refused',
  'mixed',
]

/** The end of one process, and the difference in the next. */
interface Kill {
  /** Records that it still writes. */
  readonly records: number
  readonly downMs: number
}

/** What happens to the clocks of one process. */
interface Jump {
  readonly afterMs: number
  /** `sleep`: the machine sleeps, so that only the wall clock advances. `set`: somebody sets the wall clock. */
  readonly kind: 'sleep' | 'set'
  readonly byMs: number
}

interface Plan {
  readonly seed: number
  readonly windows: readonly Window[]
  readonly waitForLimitsMs: number
  readonly maxRetries: number
  readonly fallback: boolean
  readonly compacts: boolean
  readonly agents: number
  readonly kills: readonly Kill[]
  readonly jumps: readonly (Jump | null)[]
}

const windowsOf = (of: readonly Window['kind'][]): fc.Arbitrary<readonly Window[]> =>
  fc.array(
    fc.record<Window>({
      fromMs: fc.integer({ min: 0, max: 20_000 }),
      forMs: fc.oneof(fc.integer({ min: 100, max: 20_000 }), fc.integer({ min: 10_000, max: 2 * hour })),
      kind: fc.constantFrom(...of),
    }),
    { minLength: 1, maxLength: 4 },
  )

const kills = fc.array(
  fc.record<Kill>({
    records: fc.integer({ min: 1, max: 12 }),
    downMs: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 3 * hour })),
  }),
  { minLength: 1, maxLength: 5 },
)

const jumps = fc.array(
  fc.option(
    fc.record<Jump>({
      afterMs: fc.integer({ min: 0, max: 30 * minute }),
      kind: fc.constantFrom('sleep', 'set'),
      byMs: fc.integer({ min: 1, max: 4 * hour }),
    }),
  ),
  { maxLength: 6 },
)

const plansOf = (
  overrides: Partial<{ readonly [name in keyof Plan]: fc.Arbitrary<Plan[name]> }> = {},
): fc.Arbitrary<Plan> =>
  fc.record<Plan>({
    seed: fc.integer({ min: 0, max: 1e9 }),
    windows: windowsOf(kinds),
    waitForLimitsMs: fc.oneof(
      fc.constantFrom(0, 5_000, hour, longestWaitForLimitsMs),
      fc.integer({ min: 1, max: 5 * hour }),
    ),
    maxRetries: fc.integer({ min: 0, max: 5 }),
    fallback: fc.boolean(),
    compacts: fc.boolean(),
    agents: fc.integer({ min: 0, max: 3 }),
    kills: fc.constant([]),
    jumps: fc.constant([]),
    ...overrides,
  })

/** One process: its clocks, and whether it is still alive. */
class Process {
  readonly fake: FakeClock
  /** Different in every process, like the clock of a machine that was just started. */
  readonly #start: number
  readonly #begunMs: number
  #sleptMs = 0
  isDead = false

  constructor(begunMs: number, number: number) {
    this.#begunMs = begunMs
    this.#start = number * 7_777
    this.fake = createFakeClock({ autoAdvance: true, start: this.#start })
  }

  /** True milliseconds since the sequence began. */
  get nowMs(): number {
    return this.#begunMs + this.#sleptMs + this.fake.now() - this.#start
  }

  get begunMs(): number {
    return this.#begunMs
  }

  sleep(ms: number): void {
    this.#sleptMs += ms
  }
}

/** A request that a service refused, and the reported time. */
interface Refused {
  readonly chain: string
  /** The true moment from which the service accepts requests again, as reported. */
  readonly againMs: number
  readonly saidMs: number
}

/** A recorded wait: its intended length, and when its first process and this one started it, by the true clock. */
interface OpenWait {
  readonly lengthMs: number
  readonly sinceMs: number
}

/** The true state of one sequence, independent of what the processes know: services, and a check of each request and its time. */
class World {
  readonly plan: Plan
  readonly problems: string[] = []
  /** Requests that were answered and recorded. */
  answered = 0
  /** Requests whose end was lost with their process. */
  lost = 0
  waits = 0
  setByMs = 0
  process: Process
  records: StepRecord[] = []
  #requests = 0
  #inFlight = 0
  #reserved = 0
  #wasSet = false
  /** When the machine woke up last: until 15 s later no process need notice. */
  #wokenMs = -Infinity
  readonly #said = new Map<string, Refused>()
  /** The binding refusals, by request and model. */
  readonly #binding = new Map<string, Refused>()
  readonly #open = new Map<string, OpenWait>()
  /** Waits for one request so far. */
  readonly #inARow = new Map<string, number>()
  /** The last recorded failure, by request. */
  readonly #failed = new Map<string, Refused>()

  constructor(plan: Plan) {
    this.plan = plan
    this.process = new Process(0, 0)
  }

  get wallMs(): number {
    return epoch + this.process.nowMs + this.setByMs
  }

  /** The clock of this process. */
  clock(): Clock {
    const { process } = this
    return {
      now: () => process.fake.now(),
      wallTime: () => epoch + process.nowMs + this.setByMs,
      after: (ms, callback) => process.fake.after(ms, callback),
    }
  }

  draw(place: string, below: number): number {
    return hashText(`${this.plan.seed}/${place}`) % below
  }

  /** The faults of this process's clocks. */
  schedule(jump: Jump | null | undefined): void {
    if (jump === null || jump === undefined) return
    const { process } = this
    process.fake.after(jump.afterMs, () => {
      if (process.isDead) return
      if (jump.kind === 'sleep') {
        process.sleep(jump.byMs)
        this.#wokenMs = process.nowMs
      } else {
        this.setByMs += this.draw('set', 2) === 0 ? jump.byMs : -jump.byMs
        this.#wasSet = true
      }
    })
  }

  /** The behavior of the service of a model at this moment; undefined when it answers. */
  #failure(model: string): ModelErrorInit | undefined {
    const now = this.process.nowMs
    const open = this.plan.windows.find(({ fromMs, forMs }, index) => {
      const isOfModel = model === 'main' || this.draw(`${model} ${index}`, 3) === 0
      return isOfModel && fromMs <= now && now < fromMs + forMs
    })
    if (open === undefined) return undefined
    const { kind, fromMs, forMs } = open
    return failureOf(kind === 'mixed' ? this.#mixed() : kind, fromMs + forMs - now)
  }

  #mixed(): Window['kind'] {
    const any = temporaryKinds.filter((kind) => kind !== 'mixed')
    return any[this.draw(`mixed ${this.#requests}`, any.length)] ?? 'limit'
  }

  async answer(request: ModelRequest, model: string, reply: () => string | readonly string[]) {
    const { process } = this
    const number = ++this.#requests
    const { nowMs } = process
    if (process.isDead) return new Promise<never>(() => {})
    const chain = `${chainOf(request.idempotencyKey)} ${model}`
    this.#expectInTime(chain, nowMs)
    const failure = this.#failure(model)
    this.#inFlight++
    await new Promise<void>((resolve) => process.fake.after(50 + this.draw(`takes ${number}`, 400), resolve))
    if (process.isDead) return new Promise<never>(() => {})
    this.#inFlight--
    if (failure !== undefined) {
      const requestId = `req_${number}`
      const saidMs = new ModelError(failure).retryAfterMs ?? 0
      // The service reported it when the reply arrived.
      this.#said.set(requestId, { chain, againMs: process.nowMs + saidMs, saidMs })
      throw new ModelError({ ...failure, requestId })
    }
    const outcome = reply()
    const content =
      typeof outcome === 'string'
        ? [{ type: 'text' as const, text: outcome }]
        : outcome.map((name, index) => ({ type: 'tool_use' as const, id: `call_${number}_${index}`, name, input: {} }))
    const stop_reason = typeof outcome === 'string' ? ('end_turn' as const) : ('tool_use' as const)
    return { message: { role: 'assistant' as const, id: `msg_${number}`, model, content, stop_reason, usage: billed } }
  }

  /** No request is made before the reported moment, nor long after the wait is over. */
  #expectInTime(chain: string, nowMs: number): void {
    const refusal = this.#binding.get(chain)
    if (refusal !== undefined && !this.#wasSet && nowMs < refusal.againMs - 1)
      this.problems.push(`${chain} asks ${refusal.againMs - nowMs} ms too early`)
    this.#binding.delete(chain)
  }

  /** The listener for appended records. */
  append(record: StepRecord): void {
    const storedRecord = json(record) as unknown as StepRecord
    this.records.push(storedRecord)
    if (storedRecord.type === 'intent' && storedRecord.key.endsWith('.service'))
      this.#waitBegins(storedRecord.key, storedRecord.intent)
    if (storedRecord.type !== 'result') return
    if (storedRecord.key.endsWith('.service')) this.#waitEnds(storedRecord.key, storedRecord.value)
    else this.#attemptEnds(storedRecord.key, storedRecord.value)
  }

  #attemptEnds(key: string, value: unknown): void {
    const { kind, error } = Object(value) as {
      readonly kind?: string
      readonly error?: { readonly requestId?: string }
    }
    if (kind === 'answered') this.answered++
    if (kind === 'unknown') this.lost++
    const refusal = this.#said.get(error?.requestId ?? '')
    if (kind !== 'failed' || refusal === undefined) return
    this.#binding.set(refusal.chain, refusal)
    this.#failed.set(placeOf(key), refusal)
  }

  /** Nothing is reserved for a waiting request, and it waits as long as requested. */
  #waitBegins(key: string, intent: unknown): void {
    const { since, until } = intent as { readonly since: number; readonly until: number }
    this.waits++
    if (this.#reserved > this.#inFlight)
      this.problems.push(`${key}: ${this.#reserved} reserved, ${this.#inFlight} asked`)
    const lengthMs = until - since
    const failed = this.#failed.get(placeOf(key))
    if (failed === undefined) this.problems.push(`${key}: nothing failed`)
    else if (!this.#wasSet) this.#expectLength(key, lengthMs, failed)
    this.#open.set(key, { lengthMs, sinceMs: this.process.nowMs })
  }

  /** As long as the service reported at that time, or longer when it repeatedly reported too little; at most two seconds more. */
  #expectLength(key: string, lengthMs: number, { againMs, saidMs }: Refused): void {
    const request = key.replace(/\.\d+\.service$/, '')
    const inARow = this.#inARow.get(request) ?? 0
    this.#inARow.set(request, inARow + 1)
    const leastMs = Math.min(300_000, (saidMs > 0 ? 5_000 : 15_000) * 2 ** inARow)
    const dueMs = againMs - this.process.nowMs
    const maxMs = dueMs - saidMs + Math.max(saidMs, leastMs)
    if (lengthMs < dueMs - 1) this.problems.push(`${key} is ${dueMs - lengthMs} ms too short`)
    if (lengthMs > Math.max(0, maxMs + 2_000) + 1) this.problems.push(`${key} is ${lengthMs - maxMs} ms too long`)
  }

  #waitEnds(key: string, value: unknown): void {
    const { outcome, waitedMs, endedMs } = value as {
      readonly outcome: string
      readonly waitedMs: number
      readonly endedMs: number
    }
    const wait = this.#open.get(key)
    if (wait === undefined) return void this.problems.push(`${key} ends without a beginning`)
    if (outcome !== 'over' || waitedMs !== wait.lengthMs || !Number.isFinite(endedMs))
      this.problems.push(`${key}: ${outcome} after ${waitedMs} of ${wait.lengthMs}`)
    const { nowMs, begunMs } = this.process
    const dueMs = this.#wasSet
      ? Math.max(wait.sinceMs, begunMs) + wait.lengthMs
      : Math.max(wait.sinceMs + wait.lengthMs, begunMs)
    const late = nowMs - Math.max(dueMs, this.#wokenMs + 15_000)
    if (late > 1) this.problems.push(`${key} is over ${late} ms late`)
    if (!this.#wasSet && nowMs < dueMs - 1) this.problems.push(`${key} is over ${dueMs - nowMs} ms early`)
  }

  /** A budget that only counts open reservations. */
  readonly standing: StandingBudgets = {
    names: ['all'],
    countsFor: () => true,
    take: ({ usd }) => {
      const { process } = this
      this.#reserved++
      return {
        kind: 'taken',
        usd,
        settle: () => {
          if (!process.isDead) this.#reserved--
        },
      }
    },
  }

  /** The process dies; another one begins after a while. */
  restart(downMs: number): void {
    const { nowMs } = this.process
    this.process.isDead = true
    this.#inFlight = 0
    this.#reserved = 0
    this.process = new Process(nowMs + downMs, this.#requests + 1)
  }
}

function failureOf(kind: Window['kind'], leftMs: number): ModelErrorInit {
  const limit = (retryAfterMs: number | null): ModelErrorInit => ({
    kind: 'rate_limit',
    message: kind,
    status: 429,
    retryAfterMs,
  })
  switch (kind) {
    case 'limit':
      return limit(leftMs)
    case 'late':
      return limit(leftMs + minute)
    case 'soon':
      return limit(leftMs % 3 === 0 ? 1 : 5_000)
    case 'odd':
      return limit([Number.NaN, Infinity, -1, 0, 0.5, leftMs + 0.25, 1e300][Math.floor(leftMs) % 7] ?? null)
    case 'never':
      return limit(365 * 24 * hour)
    case 'untimed':
      return limit(null)
    case 'overloaded':
      return { kind: 'overloaded', message: kind, status: 529 }
    case 'down':
      return { kind: 'server_error', message: kind, status: 503, ...(leftMs % 2 === 0 && { retryAfterMs: leftMs }) }
    case 'slow':
      return { kind: 'timeout', message: kind, status: 504, billed: 'nothing' }
    case 'refused':
    case 'mixed':
      return { kind: 'connection', message: kind, neverConnected: true, billed: 'nothing' }
  }
}

/** Whether a step belongs to the run, an agent or a question. */
const placeOf = (key: string): string => key.replace(/[^/]*$/, '')

/** A request with all its attempts. */
const chainOf = (idempotencyKey: string): string => idempotencyKey.replace(/\.\d+$/, '')

function modelsOf(world: World) {
  const model = (id: string, turns: (request: ModelRequest) => string | readonly string[]): Model => ({
    id,
    contextWindow: 200_000,
    maxOutputTokens: 1_500,
    call: (request) => world.answer(request, id, () => turns(request)),
  })
  const turns = ({ messages }: ModelRequest): string | readonly string[] => {
    const prompt = messages[0]?.content
    const turn = messages.filter(({ role }) => role === 'assistant').length
    if (prompt === 'sub') return turn === 0 ? ['Read'] : 'of the agent'
    if (prompt === 'a summary' || turn > 1) return 'done'
    return turn === 0 && world.plan.agents > 0 ? Array.from({ length: world.plan.agents }, () => 'Agent') : ['Read']
  }
  return { main: model('main', turns), other: model('other', turns), small: model('small', () => 'a summary') }
}

/** A separate model compacts its context before the second request, and the run waits for it. */
function compacting(small: Model): ContextManager {
  return {
    ...plainContext,
    autoCompact: true,
    models: [small],
    beforeRequest: ({ state }) =>
      state.spent.request !== 2 || state.spent.compactions > 0
        ? undefined
        : {
            trigger: 'auto',
            async run({ ask }) {
              const reply = await ask({
                system: 'Summarize.',
                messages: [{ role: 'user', content: 'all of it' }],
                maxOutputTokens: 500,
                model: small,
              })
              if (reply.kind !== 'answered') return { kind: 'gave_up', message: reply.kind }
              return {
                kind: 'compacted',
                messages: [{ role: 'user', content: 'a summary' }],
                preTokens: 300,
                postTokens: 40,
              }
            },
          },
  }
}

function optionsOf(world: World): RunOptions {
  const { main, other, small } = modelsOf(world)
  const { waitForLimitsMs, maxRetries, fallback, compacts } = world.plan
  return {
    model: main,
    prices,
    clock: world.clock(),
    tools: [reader('Read'), subagent],
    standing: world.standing,
    waitForLimitsMs,
    maxRetries,
    ...(fallback && { fallbackModel: other }),
    ...(compacts && { context: compacting(small) }),
  }
}

interface SequenceResult {
  readonly world: World
  readonly terminal: RunResult
  readonly state: RunState
}

/** One process, until its run ends or it dies after this many records. */
async function runProcess(world: World, kill: Kill | undefined): Promise<Omit<SequenceResult, 'world'> | undefined> {
  const { process } = world
  let left = kill?.records ?? Infinity
  let die = (): void => {}
  const died = new Promise<undefined>((resolve) => (die = () => resolve(undefined)))
  const log = {
    keeps: 'all' as const,
    flush: () => undefined,
    append(record: StepRecord) {
      if (process.isDead) throw new Error('It is dead.')
      world.append(record)
      // A process whose run has ended does not die.
      if (--left > 0 || record.type === 'end') return
      process.isDead = true
      die()
      throw new Error('It died.')
    },
  }
  const options = optionsOf(world)
  const isFirst = world.records.length === 0
  const loop = isFirst
    ? streamRun(startRun({ prompt: 'go' }), { ...options, steps: new DurableStepEngine({ clock: world.clock(), log }) })
    : resume(world.records.slice(), options, undefined, log).loop
  const ended = loop.ended.catch(() => undefined)
  const outcome = await Promise.race([ended, died])
  return process.isDead ? undefined : outcome
}

async function playSequence(plan: Plan): Promise<SequenceResult> {
  const world = new World(plan)
  for (let number = 0; ; number++) {
    world.schedule(plan.jumps[number])
    const kill = plan.kills[number]
    const outcome = await runProcess(world, kill)
    if (outcome !== undefined) return { world, ...outcome }
    world.restart(kill?.downMs ?? 0)
  }
}

/** The invariants of every sequence. */
function expectInvariants({ world, terminal, state }: SequenceResult): void {
  const { plan, problems, answered, lost } = world
  expect(problems).toEqual([])
  expect(['completed', 'model_error']).toContain(terminal.reason)
  expect(state.spent.waits?.ms ?? 0).toBeLessThanOrEqual(plan.waitForLimitsMs)
  // A refused request costs nothing, and one that was lost with its process its worst case.
  const paid = 15 * answered
  expect(lost === 0 ? terminal.committedUsd === paid : terminal.committedUsd > paid).toBe(true)
}

test('for any sequence of limits and outages', async () => {
  const reasons = new Map<string, number>()
  let waits = 0
  await fc.assert(
    fc.asyncProperty(plansOf(), async (plan) => {
      const outcome = await playSequence(plan)
      const { world, terminal, state } = outcome
      expectInvariants(outcome)
      waits += world.waits
      reasons.set(terminal.reason, (reasons.get(terminal.reason) ?? 0) + 1)
      // All time is either active or waited.
      expect(terminal.durationMs + (state.spent.waits?.ms ?? 0)).toBeCloseTo(world.process.nowMs, 3)
    }),
    runs(250),
  )
  // Otherwise the test would try nothing.
  expect([reasons.size, waits > 0]).toEqual([2, true])
})

test('with kills after any record, down times of any length, clocks that are set and machines that sleep', async () => {
  let lost = 0
  await fc.assert(
    fc.asyncProperty(plansOf({ kills, jumps }), async (plan) => {
      const outcome = await playSequence(plan)
      expectInvariants(outcome)
      lost += outcome.world.lost
    }),
    runs(400),
  )
  expect(lost).toBeGreaterThan(0)
})

test('waits for temporary refusals, whatever is killed', async () => {
  const runOptions = {
    windows: windowsOf(temporaryKinds),
    kills,
    jumps,
    waitForLimitsMs: fc.constant(longestWaitForLimitsMs),
  }
  await fc.assert(
    fc.asyncProperty(plansOf(runOptions), async (plan) => {
      const outcome = await playSequence(plan)
      expectInvariants(outcome)
      expect(outcome.terminal.reason).toBe('completed')
    }),
    runs(200),
  )
})

test('is unchanged by a kill that loses neither time nor a reply', async () => {
  const quick = kills.map((all) => all.map((kill) => ({ ...kill, downMs: 0 })))
  let compared = 0
  await fc.assert(
    fc.asyncProperty(plansOf({ kills: quick, agents: fc.constant(0) }), async (plan) => {
      const killed = await playSequence(plan)
      expectInvariants(killed)
      if (killed.world.lost > 0) return
      compared++
      const completeRun = await playSequence({ ...plan, kills: [] })
      const summaryOf = ({ terminal, state }: SequenceResult) => [
        terminal.reason,
        terminal.retryAt,
        terminal.summary.turns,
        state.spent.waits,
      ]
      expect(summaryOf(killed)).toEqual(summaryOf(completeRun))
    }),
    runs(150),
  )
  expect(compared).toBeGreaterThan(0)
})

/** The number of sequences: all of them in `npm run deep -- waits`, which may set another number. Shrinking is limited. */
function runs(of: number) {
  const wanted = Number(process.env['HALTING_SEQUENCES'] ?? 1_000)
  const numRuns = isWhole ? Math.ceil((of * wanted) / 1_000) : Math.ceil(of / 20)
  return { numRuns, interruptAfterTimeLimit: 60_000 + 100 * numRuns, markInterruptAsFailure: true }
}
