import { AsyncLocalStorage } from 'node:async_hooks'
import {
  CallableHook,
  streamRun,
  noProgress,
  startRun,
  stepLimit,
  type AnyTool,
  type HookTrigger,
  type RunStream,
  type RunEvent,
  type RunOptions,
  type Model,
  type RunState,
  createMemorySteps,
  type StepRecord,
} from '@halting/core'
import { InMemoryCancellationSource } from '@halting/core/compat'
import { plainContext } from '@halting/core/adapters'
import { ledgerOf, settingsOf, type Clock, type StepEngine } from '@halting/core/steps'
import { type ReplyKind, replyOf } from '../src/replies.ts'
import { askingContext } from '../src/layers.ts'

// Two concurrent runs over the same parts, in a given schedule: each must behave as it does alone.

export type Name = 'left' | 'right'
const names: readonly Name[] = ['left', 'right']

/** The decisions of a path; a label of a run begins with its name. */
export interface Decisions {
  choose<T>(label: string, options: readonly T[]): T
}

/** Decides which of the runs that can proceed does. */
export type Schedule = (waiting: readonly Name[]) => Name

/** The comparable outcome of a run. */
interface Outcome {
  readonly events: readonly RunEvent[]
  readonly records: readonly StepRecord[]
  readonly state: RunState
  readonly figures: unknown
  readonly calls: readonly string[]
}

/** Everything that the two runs share: options, and all that is in them. */
export interface Shared {
  readonly options: RunOptions
  readonly starts: { readonly [name in Name]: RunState }
}

interface Going {
  readonly loop: RunStream
  readonly waiting: (() => void)[]
  readonly calls: string[]
  gates: number
}

/** Identifies the run that is calling, however deep in a shared part. */
const asker = new AsyncLocalStorage<{ readonly name: Name; readonly stage: Stage }>()

/** Once enabled, it slows down every promise of its process until it is disabled; other tests may run there. */
export function forgetAskers(): void {
  asker.disable()
}

/** Runs that proceed together, or one that proceeds alone, and where each waits for its turn. */
class Stage {
  readonly going = new Map<Name, Going>()
  readonly decisions: Decisions

  constructor(decisions: Decisions) {
    this.decisions = decisions
  }

  /** Waits for this run's turn. Inputs from outside may arrive then. */
  async turnOf(name: Name): Promise<void> {
    const going = this.going.get(name)
    if (going === undefined) throw new Error(`${name} does not go on`)
    const number = ++going.gates
    await new Promise<void>((resolve) => going.waiting.push(resolve))
    switch (this.decisions.choose(`${name} outside ${number}`, outside)) {
      case 'nothing':
        return
      case 'an abort':
        return going.loop.abort('interrupt')
      case 'a stop':
        return going.loop.stop('enough')
      case 'a message':
        return void going.loop.steer('a word')
      case 'a limit':
        return going.loop.set({ limits: { maxTurns: 1 } })
    }
  }
}

const outside = ['nothing', 'an abort', 'a stop', 'a message', 'a limit'] as const

/** The turn of the calling run. */
async function turn(what: string): Promise<void> {
  const found = asker.getStore()
  if (found === undefined) throw new Error(`${what} was asked for by no run`)
  await found.stage.turnOf(found.name)
}

/** Lets the runs of `who` proceed from gate to gate as the schedule says, until all have ended. */
async function play(
  shared: Shared,
  who: readonly Name[],
  decisions: Decisions,
  schedule: Schedule,
): Promise<{ readonly [name in Name]?: Outcome }> {
  const stage = new Stage(decisions)
  const outcomes: { [name in Name]?: Outcome } = {}
  for (const name of who) void asker.run({ name, stage }, () => perform(shared, name, stage, outcomes))
  for (;;) {
    await new Promise((resolve) => setImmediate(resolve))
    if (who.every((name) => outcomes[name] !== undefined)) return outcomes
    const waiting = who.filter((name) => (stage.going.get(name)?.waiting.length ?? 0) > 0)
    if (waiting.length === 0) throw new Error('Nobody goes on, and not all have ended.')
    stage.going.get(schedule(waiting))?.waiting.shift()?.()
  }
}

async function perform(
  { options, starts }: Shared,
  name: Name,
  stage: Stage,
  outcomes: { [name in Name]?: Outcome },
): Promise<void> {
  const steps = createMemorySteps({ clock: still, sessionId: starts[name].run.sessionId })
  const ledger = ledgerOf(settingsOf(options))
  const running = streamRun(starts[name], optionsWith(options, inTurns(steps)), { ledger })
  const going: Going = { loop: running, waiting: [], calls: [], gates: 0 }
  stage.going.set(name, going)
  const events: RunEvent[] = []
  for await (const event of running) events.push(event)
  const { state } = await running.ended
  outcomes[name] = { events, records: steps.records, state, figures: ledger.figures(), calls: going.calls }
}

/** The same options for both, except for the driver, which each run has for itself. */
function optionsWith(options: RunOptions, steps: StepEngine): RunOptions {
  return { ...options, steps }
}

/** Before every step, and during it, the other run may proceed. */
function inTurns(inner: StepEngine): StepEngine {
  return {
    get replaying() {
      return inner.replaying
    },
    peek: (key) => inner.peek(key),
    abandon: (prefix) => inner.abandon(prefix),
    begin: (start) => inner.begin(start),
    async run(key, effect, options) {
      await turn(key)
      return inner.run(
        key,
        async (scope) => {
          const value = await effect(scope)
          await turn(key)
          return value
        },
        options,
      )
    },
    scope: (name) => inTurns(inner.scope(name)),
    concurrent: (name, prefix) => inTurns(inner.concurrent(name, prefix)),
    lap: (lap) => inner.lap(lap),
    control: (key, poll, options) => inner.control(key, poll, options),
    async sleep(key, ms, options) {
      await turn(key)
      await inner.sleep(key, ms, options)
    },
    wait: (key, options) => inner.wait(key, options),
    end: (terminal) => inner.end(terminal),
  }
}

/** No time passes: waits end at once, and deadlines are never reached. */
const still: Clock = {
  now: () => 0,
  after(ms, callback) {
    let isOff = ms >= 60_000
    void Promise.resolve().then(() => isOff || callback())
    return () => {
      isOff = true
    }
  },
}

/** Possible replies of models; the first is the plain one. */
export const replies: readonly ReplyKind[] = [
  'read write',
  'text',
  'task',
  'cut',
  'broken text',
  'error overloaded',
  'error prompt_too_long',
  'strange: one id thrice',
]

function sharedModel(id: string): Model {
  return {
    id,
    contextWindow: 100_000,
    maxOutputTokens: 8_000,
    defaultOutputTokens: 4_000,
    async call(request, call) {
      const found = asker.getStore()
      if (found === undefined) throw new Error('a model was asked by no run')
      const { name, stage } = found
      const key = request.idempotencyKey
      const step = key.slice(key.indexOf('/') + 1)
      const isAgent = step.includes('agent:')
      const number = Number(/model:(\d+)\./.exec(step)?.[1] ?? 9)
      const kind =
        isAgent || request.toolChoice === 'none' || number > 2
          ? 'text'
          : stage.decisions.choose(`${name} reply ${step}`, replies)
      call.emit({ type: 'text_delta', index: 0, text: `${name} begins` })
      await turn(key)
      return replyOf(kind, { request, call, model: id, key })
    },
  }
}

function sharedTools(): readonly AnyTool[] {
  const execute = async (_input: unknown, { callId }: { readonly callId: string }): Promise<string> => {
    const found = asker.getStore()
    found?.stage.going.get(found.name)?.calls.push(callId)
    await turn(callId)
    return `${found?.name} did ${callId}`
  }
  const inputSchema = { type: 'object' } as const
  return [
    { name: 'Read', description: '', inputSchema, readOnly: true, execute },
    { name: 'Write', description: '', inputSchema, readOnly: false, execute },
    {
      name: 'Task',
      description: '',
      inputSchema,
      readOnly: false,
      concurrencySafe: true,
      spawn: () => ({ prompt: 'a part', maxTurns: 2 }),
    },
  ]
}

const speakingHooks: readonly HookTrigger[] = ['beforeStep', 'beforeToolUse', 'afterToolUse', 'afterStep', 'onStop']

/** Options that use everything that can be shared. */
function sharedOptions(): RunOptions {
  return {
    model: sharedModel('primary'),
    fallbackModel: sharedModel('fallback'),
    tools: sharedTools(),
    prices: {
      cost: (_model, usage) => (usage.input_tokens * 3 + usage.output_tokens * 15) / 1e6,
      worstCase: (_model, { inputTokens, outputTokens }) => (inputTokens * 6 + outputTokens * 15) / 1e6,
    },
    clock: still,
    graceMs: 0,
    maxRetries: 3,
    maxTurns: 4,
    maxBudgetUsd: 0.5,
    maxTotalTokens: 100_000,
    tokenBudget: 30,
    wrapUp: true,
    stopWhen: [noProgress({ repeats: 2 }), stepLimit(4)],
    cancellation: [new InMemoryCancellationSource({ executionId: 'nobody' })],
    permissions: {
      denies: () => undefined,
      async decide() {
        await turn('a rule')
        return { behavior: 'allow' }
      },
    },
    hooks: speakingHooks.map(
      (trigger) =>
        new CallableHook(
          async (context) => {
            await turn(trigger)
            const name = asker.getStore()?.name ?? ''
            const state = context.state()
            const seen = Number(state.metadata[trigger] ?? 0) + 1
            return context.withState(state.withMetadata(trigger, seen).withMetadata('name', name))
          },
          { triggers: [trigger], id: trigger },
        ),
    ),
    stopHooks: [
      {
        id: 'once',
        async handle({ stopHookActive }) {
          await turn('a stop hook')
          return stopHookActive ? {} : { block: `not yet, ${asker.getStore()?.name}` }
        },
      },
    ],
    context: { ...plainContext, ...askingContext },
  }
}

/** Each run with its own prompt, both over the same transcript. */
export function twoPrompts(): Shared {
  const { transcript } = startRun({ prompt: 'before' })
  const start = (name: Name): RunState => startRun({ transcript, prompt: `go ${name}`, sessionId: name })
  return { options: sharedOptions(), starts: { left: start('left'), right: start('right') } }
}

/** One state, run twice. */
export function oneState(): Shared {
  const start = startRun({ prompt: 'go' })
  return { options: sharedOptions(), starts: { left: start, right: start } }
}

/** Plays both runs alone, then both concurrently. Returns the differences; none if all is well. */
export async function differences(
  make: () => Shared,
  decisions: Decisions,
  schedule: Schedule,
): Promise<readonly unknown[]> {
  const alone: { [name in Name]?: Outcome } = {}
  // Each run alone, with parts that no other run has.
  for (const name of names) Object.assign(alone, await play(make(), [name], decisions, ([only]) => only ?? name))
  const together = await play(make(), names, decisions, schedule)
  return names.flatMap((name) => different(name, alone[name], together[name]))
}

function different(name: Name, alone: Outcome | undefined, together: Outcome | undefined): readonly unknown[] {
  if (alone === undefined || together === undefined) return [{ name, alone, together }]
  return parts.flatMap((part) => {
    const [was, is] = [JSON.stringify(alone[part]), JSON.stringify(together[part])]
    return was === is ? [] : [{ name, part, alone: was, together: is }]
  })
}

const parts = ['events', 'records', 'state', 'figures', 'calls'] as const
