import {
  CallableHook,
  type AnyTool,
  type Goal,
  type GoalFiles,
  type GoalVerdict,
  type ModelReply,
  type ModelRequest,
  type Permissions,
  type RunOptions,
  type Model,
  type ContentBlock,
} from '@halting/core'
import { hashText, noUsage } from '@halting/core/adapters'
import { FinishReasonHook } from '@halting/core/compat'
import { createFakeClock } from '@halting/core/testing'
import type { DrawnProcess, DrawnReply, DrawnRun } from './drawn-run.ts'

// The world of a random run: a tree that calls change, and checks that inspect it. It outlives the processes.

/** One executed check. */
export interface MadeCheck {
  readonly name: string
  /** The number of changes of the tree at that time. */
  readonly version: number
  readonly met: boolean
}

export class GoalWorld {
  /** The number of changes of the tree. */
  version = 0
  readonly checks: MadeCheck[] = []
  /** Requests to models. */
  requests = 0
  readonly #run: DrawnRun

  constructor(run: DrawnRun) {
    this.#run = run
  }

  /** Runs one check. Its report has its number, which identifies it in the records. */
  check(name: string): GoalVerdict {
    const { holds, flips } = this.#run
    const number = this.checks.length
    const isHeld = holds[this.version % holds.length] === true
    const met = isHeld !== (flips[number % flips.length] === true)
    this.checks.push({ name, version: this.version, met })
    return { met, exitCode: met ? 0 : 1, report: `check ${number}` }
  }

  get isTampered(): boolean {
    const { tampered } = this.#run
    return tampered !== null && tampered[this.version % tampered.length] === true
  }
}

/** A process that works in the world until it dies. After that it changes nothing. */
export class WorldProcess {
  readonly #run: DrawnRun
  readonly #world: GoalWorld
  readonly #until: DrawnProcess['until']
  readonly #clock = createFakeClock({ autoAdvance: true })
  isDead = false

  constructor(run: DrawnRun, world: GoalWorld, until: DrawnProcess['until']) {
    this.#run = run
    this.#world = world
    this.#until = until
  }

  get options(): RunOptions {
    const { maxTurns, maxGoalTries, wrapUp, skipIfMet, stopWhenMet, unmetWithoutWork, tokenBudget, limit } = this.#run
    return {
      model: this.#model(),
      tools: this.#tools(),
      clock: this.#clock,
      graceMs: 0,
      maxRetries: 0,
      permissions: planning,
      until: this.#goals(),
      goalNamed: ({ name }) => this.#goal(name),
      ...this.#files(),
      ...this.#hooks(),
      prices,
      maxTurns,
      maxGoalTries,
      wrapUp,
      skipIfMet,
      stopWhenMet,
      unmetWithoutWork,
      ...(tokenBudget !== null && { tokenBudget }),
      ...(this.#run.output && { output: { check: fitsJson } }),
      ...(limit === 'usd' && { maxBudgetUsd: 0.007 }),
      ...(limit === 'tokens' && { maxTotalTokens: 3_000 }),
      ...(limit === 'time' && { maxDurationMs: 60 }),
    }
  }

  /** Waits for this time. */
  #pass(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const stop = this.#clock.after(ms, resolve)
      signal?.addEventListener('abort', () => {
        stop()
        resolve()
      })
    })
  }

  #goals(): readonly Goal[] {
    if (this.#until === 'none') return []
    if (this.#until === 'other') return [this.#goal('other')]
    return Array.from({ length: this.#run.goals }, (_, index) => this.#goal(`goal ${index}`))
  }

  #goal(name: string): Goal {
    const { stable } = this.#run
    return {
      name,
      ...(stable > 1 && { stable }),
      check: async ({ signal }) => {
        if (this.isDead) return new Promise<never>(() => {})
        const verdict = this.#world.check(name)
        await this.#pass(3, signal)
        return verdict
      },
    }
  }

  #files(): { readonly goalFiles?: GoalFiles } {
    if (this.#run.tampered === null) return {}
    const begin: GoalFiles['begin'] = (memo) => ({
      tampered: this.#world.isTampered ? ['package.json'] : [],
      end: () => ({ memo: typeof memo === 'number' ? memo + 1 : 1, changedByChecks: [], changedTests: ['a.test.js'] }),
    })
    return { goalFiles: { begin } }
  }

  #hooks(): Partial<RunOptions> {
    const { stopHooks, continuesAtStop, guard } = this.#run
    const continueHook = new CallableHook(
      (context) => {
        const { length } = context.state().transcript
        if (continuesAtStop[length % continuesAtStop.length] !== true) return context
        return context.withState(context.state().withExecutionContinued('more'))
      },
      { triggers: ['onStop'], id: 'goes-on' },
    )
    return {
      ...(continuesAtStop.length > 0 && { hooks: [continueHook] }),
      ...(stopHooks.length > 0 && {
        stopHooks: [
          {
            id: 'drawn',
            handle({ messagesForQuery: { length } }) {
              const answer = stopHooks[length % stopHooks.length]
              if (answer === 'block') return { block: 'not yet' }
              return answer === 'prevent' ? { prevent: 'no further' } : {}
            },
          },
        ],
      }),
      ...(guard && { stopWhen: new FinishReasonHook(['stop_sequence']) }),
    }
  }

  #tools(): readonly AnyTool[] {
    const tool = (name: string, readOnly: boolean, execute: () => void): AnyTool => ({
      name,
      description: '',
      inputSchema: { type: 'object' },
      readOnly,
      execute: async (_input, { signal }) => {
        if (this.isDead) return new Promise<never>(() => {})
        execute()
        await this.#pass(5, signal)
        return 'done'
      },
    })
    const change = (): void => {
      this.#world.version++
    }
    const spawn = (background: boolean) => () => ({
      prompt: 'a part of it',
      maxTurns: 3,
      ...(background && { background }),
      ...(this.#run.agentGoals && { until: [this.#goal('part')] }),
    })
    const agent = { description: '', inputSchema: { type: 'object' }, readOnly: false, concurrencySafe: true } as const
    return [
      tool('Edit', false, change),
      {
        ...tool('Broken', false, () => {
          throw new Error('nothing to replace')
        }),
        failsUnchanged: true,
      },
      tool('Bash', false, () => {
        change()
        throw new Error('exit code 1')
      }),
      tool('Look', true, () => {}),
      { ...agent, name: 'Agent', spawn: spawn(false) },
      { ...agent, name: 'Beside', spawn: spawn(true) },
    ]
  }

  /** Gives the same reply to the same request, even after a kill. */
  #model(): Model {
    return {
      id: 'drawn',
      contextWindow: 100_000,
      maxOutputTokens: 1_000,
      call: async (request, { signal }) => {
        if (this.isDead) return new Promise<never>(() => {})
        this.#world.requests++
        await this.#pass(2, signal)
        signal.throwIfAborted()
        return replyOf(this.#replyTo(request), request)
      },
    }
  }

  #replyTo({ idempotencyKey, toolChoice }: ModelRequest): DrawnReply {
    if (toolChoice === 'none') return 'text'
    const number = Number(/model:(\d+)\./.exec(idempotencyKey)?.[1] ?? 0)
    const isOfAgent = idempotencyKey.includes('/agent:')
    const replies = isOfAgent ? this.#run.agentReplies : this.#run.replies
    const shift = isOfAgent ? hashText(idempotencyKey.replace(/model:.*/, '')) % replies.length : 0
    return replies[(number - 1 + shift) % replies.length] ?? 'text'
  }
}

const prices = {
  cost: () => 0.001,
  worstCase: () => 0.004,
}

const planning: Permissions = {
  modes: ['plan', 'normal'],
  denies: () => undefined,
  decide: () => ({ behavior: 'allow' }),
  isPlanning: (mode) => mode === 'plan',
}

function fitsJson(answer: string) {
  return answer.startsWith('{')
    ? ({ fits: true, value: answer } as const)
    : ({ fits: false, message: 'no JSON' } as const)
}

const toolsOf: { readonly [kind in DrawnReply]?: readonly string[] } = {
  edit: ['Edit'],
  'broken edit': ['Broken'],
  'failing command': ['Bash'],
  look: ['Look'],
  'edit and look': ['Edit', 'Look', 'Look'],
  agent: ['Agent'],
  'agent beside': ['Beside'],
}
const textOf: { readonly [kind in DrawnReply]?: string } = {
  text: 'Done.',
  'other text': 'Which file?',
  json: '{}',
  half: 'Half.',
  cut: 'And',
}
const stopReasonOf = { cut: 'max_tokens', half: 'stop_sequence' } as const

function replyOf(kind: DrawnReply, { idempotencyKey }: ModelRequest): ModelReply {
  const tools = toolsOf[kind] ?? []
  const text = textOf[kind]
  const content: ContentBlock[] = [
    ...(text === undefined ? [] : [{ type: 'text' as const, text }]),
    ...tools.map((name, index) => ({
      type: 'tool_use' as const,
      id: `call ${idempotencyKey} ${index}`,
      name,
      input: {},
    })),
  ]
  const usual = tools.length > 0 ? 'tool_use' : 'end_turn'
  const stop_reason = kind === 'cut' || kind === 'half' ? stopReasonOf[kind] : usual
  const usage = { ...noUsage, input_tokens: 100, output_tokens: 20 }
  return { message: { role: 'assistant', id: `msg ${idempotencyKey}`, model: 'drawn', content, stop_reason, usage } }
}
