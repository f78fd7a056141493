import type { AnyTool, JsonObject, RunOptions, Model, ModelMessage, Prices } from '@halting/core'
import { scriptedModel, type ScriptedReply } from '@halting/core/testing'

/** The plan of a scripted session. Each step follows from the conversation alone, so that any process can continue. */
export interface Plan extends JsonObject {
  /** The calls of the model after each prompt, turn by turn; then it answers. */
  readonly turns: readonly (readonly CallKind[])[]
  /** It never answers: the last turn repeats. */
  readonly isEndless: boolean
  /** How long a call takes. */
  readonly toolMs: number
  readonly maxTurns: number | null
  readonly maxBudgetUsd: number | null
}

/**
 * `Look` may be repeated and runs concurrently; `Pay` must not be repeated; `Ask` is a `Pay` that needs permission; `Fail` fails; `Task` is a subagent that looks and pays;
 * `Beside` is one in the background. `Steer`, `Stop` and `Interrupt` pay, and then the corresponding input arrives.
 */
export type CallKind = 'Look' | 'Pay' | 'Ask' | 'Fail' | 'Task' | 'Beside' | 'Steer' | 'Stop' | 'Interrupt'

/** Side effects of a plan's tools. */
export interface PlanWorld {
  /** A side effect happens. */
  effect(callId: string): void
  /** The service was called, and bills this. */
  billed(usd: number): void
  /** This input arrives during the call. Resolves when the session has received it. */
  say(kind: 'Steer' | 'Stop' | 'Interrupt', callId: string): Promise<void>
}

/** The text of the prompt that begins run `run`. */
export const promptOf = (run: number): string => `go ${run}.`

/** Inputs to a running run, by the call during which they arrive. */
export const noteOf = (callId: string): string => `Mind ${callId}.`

const usage = { input_tokens: 1_000, output_tokens: 500 }
const usdOf = (input: number, output: number): number => (input * 3 + output * 15) / 1e6
/** The bill of one request. */
export const requestUsd: number = usdOf(usage.input_tokens, usage.output_tokens)

const planPrices: Prices = {
  cost: (_model, { input_tokens, output_tokens }) => usdOf(input_tokens, output_tokens),
  worstCase: (_model, { inputTokens, outputTokens }) => usdOf(inputTokens, outputTokens),
}

/** Options of a session that follows the plan. */
export function planOptions(plan: Plan, world: PlanWorld): RunOptions {
  return {
    model: planModel(plan, world),
    tools: toolsOf(plan, world),
    prices: planPrices,
    permissions: {
      denies: () => undefined,
      decide: ({ tool }) => (tool.name === 'Ask' ? { behavior: 'ask', message: 'May I?' } : { behavior: 'allow' }),
    },
    maxTurns: plan.maxTurns ?? 1_000,
    ...(plan.maxBudgetUsd !== null && { maxBudgetUsd: plan.maxBudgetUsd }),
  }
}

/** Its messages have the ids of their requests: a scripted model numbers them per process. */
function planModel(plan: Plan, world: PlanWorld): Model {
  const scripted = scriptedModel(
    ({ messages }) => {
      world.billed(requestUsd)
      return replyOf(plan, messages)
    },
    { maxOutputTokens: 1_000 },
  )
  return {
    ...scripted,
    async call(request, options) {
      const messageId = `msg_${request.idempotencyKey}`
      const emit: typeof options.emit = (event) =>
        options.emit(event.type === 'block' ? { ...event, messageId } : event)
      const reply = await scripted.call(request, { ...options, emit })
      return { ...reply, message: { ...reply.message, id: messageId } }
    },
  }
}

function replyOf(plan: Plan, messages: readonly ModelMessage[]): ScriptedReply {
  const begin = messages.findLastIndex((message) => beginsAs(message) !== undefined)
  const [, kind, name = ''] = (messages[begin] && beginsAs(messages[begin])) ?? []
  const turn = messages.slice(begin).filter(({ role }) => role === 'assistant').length
  if (kind === 'part') return turn > 0 ? { text: `${name} is done`, usage } : callsOf(['Look', 'Pay'], `${name}-p`)
  const calls = plan.turns[plan.isEndless ? Math.min(turn, plan.turns.length - 1) : turn]
  return calls === undefined ? { text: `done after ${turn} turns`, usage } : callsOf(calls, `${name}.${turn}`)
}

/** The prompt of a run or of a subagent. */
function beginsAs({ role, content }: ModelMessage): RegExpExecArray | undefined {
  if (role !== 'user') return undefined
  return /(go|part) ([\w.-]+)\./.exec(JSON.stringify(content)) ?? undefined
}

function callsOf(kinds: readonly CallKind[], before: string): ScriptedReply {
  return { toolCalls: kinds.map((name, index) => callOf(name, `${before}.${index}`)), usage }
}

function callOf(
  name: CallKind,
  id: string,
): { readonly name: string; readonly id: string; readonly input: JsonObject } {
  return { name, id, input: { id } }
}

function toolsOf(plan: Plan, world: PlanWorld): readonly AnyTool[] {
  const inputSchema = { type: 'object' } as const
  const described = { description: '', inputSchema, readOnly: false } as const
  const pay = async (callId: string, signal: AbortSignal): Promise<string> => {
    world.effect(callId)
    await pause(plan.toolMs, signal)
    return `paid by ${callId}`
  }
  const paying = (name: 'Pay' | 'Ask'): AnyTool => ({
    ...described,
    name,
    execute: (_input, { callId, signal }) => pay(callId, signal),
  })
  const saying = (name: 'Steer' | 'Stop' | 'Interrupt'): AnyTool => ({
    ...described,
    name,
    async execute(_input, { callId, signal }) {
      const paid = await pay(callId, signal)
      await world.say(name, callId)
      return paid
    },
  })
  const starting = (name: 'Task' | 'Beside'): AnyTool => ({
    ...described,
    name,
    concurrencySafe: true,
    // `callsOf` wrote it.
    spawn: (input) => ({
      prompt: `part ${(input as { readonly id: string }).id}.`,
      maxTurns: 5,
      ...(name === 'Beside' && { background: true }),
    }),
  })
  return [
    {
      ...described,
      name: 'Look',
      readOnly: true,
      async execute(_input, { callId, signal }) {
        await pause(plan.toolMs, signal)
        return `seen by ${callId}`
      },
    },
    {
      ...described,
      name: 'Fail',
      execute(_input, { callId }) {
        throw new Error(`${callId} fails.`)
      },
    },
    paying('Pay'),
    paying('Ask'),
    starting('Task'),
    starting('Beside'),
    saying('Steer'),
    saying('Stop'),
    saying('Interrupt'),
  ]
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer)
      reject(new Error('It was aborted.'))
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop)
      resolve()
    }, ms)
    signal.addEventListener('abort', stop)
  })
}
