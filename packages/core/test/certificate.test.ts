// Tests R-CERT-1 to R-CERT-3, R-LIM-62, R-LIM-63.
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  any,
  certificate,
  ConfigurationError,
  noProgress,
  type AgentTool,
  type ContextManager,
  type RunOptions,
  type Tool,
} from '../src/index.ts'
import { CostLimitHook, StepsLimitHook, TokenUsageLimitHook, UseGuards } from '../src/compat/index.ts'
import { plainContext, type Compaction } from '../src/entries/adapters.ts'
import { createFakeClock, scriptedModel, type ScriptedReply } from '../src/testing/index.ts'
import { begin, calls, dollarATokenPrices, hook, reader, run } from './support/harness.ts'
import { drawn } from './support/deep.ts'

const model = scriptedModel([], { contextWindow: 1_000, maxOutputTokens: 100 })
const agent: AgentTool = {
  name: 'Agent',
  description: 'sub',
  inputSchema: { type: 'object' },
  readOnly: true,
  spawn: () => ({ prompt: 'sub' }),
}

describe('a certificate', () => {
  test('counts turns, iterations and requests of plain options', () => {
    expect(certificate({ model, maxTurns: 2, maxRetries: 0 })).toEqual({
      halts: true,
      turns: { bounded: true, value: 2, because: 'maxTurns' },
      // 2 turns, each with 8 pauses, 3 resumes and one removed image.
      laps: { bounded: true, value: 26, because: 'turns, plus the retry limits of all other reasons to iterate' },
      requests: { bounded: true, value: 26, because: 'iterations, each with at most 1 attempt' },
      toolCalls: { bounded: false, because: 'maxToolCalls is not set; a reply may request any number of calls' },
      tokens: {
        bounded: true,
        value: 28_600,
        because: "requests, each within the model's context window; set maxTotalTokens for a tighter bound",
      },
      usd: { bounded: false, because: 'no price is known for scripted' },
      seconds: { bounded: false, because: 'maxDurationMs is not set; a request or a tool may take any time' },
      notes: [],
    })
  })

  test('takes custom bounds as they are', () => {
    const { tokens, usd, seconds } = certificate({
      model,
      maxTotalTokens: 5_000,
      maxBudgetUsd: 2,
      prices: dollarATokenPrices,
      maxDurationMs: 60_000,
      graceMs: 500,
    })
    expect([tokens, usd, seconds]).toEqual([
      { bounded: true, value: 5_000, because: 'maxTotalTokens, reserved before each request' },
      { bounded: true, value: 2, because: 'maxBudgetUsd, reserved before each request' },
      { bounded: true, value: 60.5, because: 'maxDurationMs, plus the grace time of running work' },
    ])
  })

  test('names the lowest dollar limit, and bounds tool calls (spec R-LIM-62)', () => {
    const runOptions = { model, prices: dollarATokenPrices, maxBudgetUsd: 8, maxRunUsd: 5, maxToolCalls: 30 }
    const usd = (options: Partial<RunOptions>) => certificate({ ...runOptions, ...options }).usd
    expect([
      usd({}),
      usd({ spentBeforeUsd: 4 }),
      usd({ stopWhen: new CostLimitHook(3) }),
      usd({ stopWhen: new CostLimitHook(6) }),
      certificate(runOptions).toolCalls,
    ]).toEqual([
      { bounded: true, value: 5, because: 'maxRunUsd, reserved before each request' },
      { bounded: true, value: 4, because: 'maxBudgetUsd less spentBeforeUsd, reserved before each request' },
      { bounded: true, value: 3, because: 'a guard on cost, reserved before each request' },
      { bounded: true, value: 5, because: 'maxRunUsd, reserved before each request' },
      { bounded: true, value: 30, because: 'maxToolCalls' },
    ])
  })

  test('names the standing budgets that also apply (spec R-LIM-63)', () => {
    const take = () => {
      throw new Error('nothing is asked')
    }
    const standing = (names: readonly string[]) =>
      certificate({ model, standing: { names, countsFor: () => false, take } }).standingBudgets
    expect([standing(['$20 a day', '$200 a month']), standing([]), certificate({ model }).standingBudgets]).toEqual([
      ['$20 a day', '$200 a month'],
      undefined,
      undefined,
    ])
  })

  test('names the limit of tokens as it was passed', () => {
    const because = (options: Partial<RunOptions>) => certificate({ model, ...options }).tokens.because
    expect([
      because({ maxTotalTokens: 5_000 }),
      because({ maxTotalTokens: 5_000, stopWhen: new TokenUsageLimitHook(9_000) }),
      because({ maxTotalTokens: 5_000, stopWhen: new TokenUsageLimitHook(900) }),
    ]).toEqual([
      'maxTotalTokens, reserved before each request',
      'maxTotalTokens, reserved before each request',
      'a guard on tokens, reserved before each request',
    ])
  })

  test('gives no promise when turns are Infinity', () => {
    const because = 'maxTurns is Infinity'
    const { halts, turns, laps, requests, tokens } = certificate({ model, maxTurns: Infinity })
    expect([halts, turns, laps, requests, tokens]).toEqual([
      false,
      ...Array.from({ length: 4 }, () => ({ bounded: false, because })),
    ])
  })

  test('uses the bounds of guards, unless a hook could override them', () => {
    const guarded = { model, stopWhen: new UseGuards().guards }
    expect(certificate(guarded).turns).toEqual({ bounded: true, value: 20, because: 'a guard on steps' })
    expect([certificate(guarded).tokens, certificate(guarded).seconds]).toMatchObject([
      { value: 32_768 },
      { value: 300.25 },
    ])
    expect(certificate({ ...guarded, hooks: [hook('onStop', () => {})] }).turns).toEqual({
      bounded: true,
      value: 21,
      because: 'a guard on steps',
    })
  })

  describe('gives no promise', () => {
    const off = (options: Partial<RunOptions>) => {
      const { halts, requests, tokens, usd } = certificate({ model, prices: dollarATokenPrices, ...options })
      return [halts, requests, tokens, usd]
    }
    const because = (text: string) => {
      const bound = { bounded: false, because: text }
      return [false, bound, bound, bound]
    }

    test('when requests are retried without limit', () => {
      expect(off({ maxRetries: Infinity })).toEqual(because('maxRetries is Infinity'))
    })

    test('when the token target is unlimited', () => {
      expect(off({ tokenBudget: Infinity })).toEqual(because('tokenBudget is Infinity'))
      expect(certificate({ model, tokenBudget: Infinity }).laps).toEqual(because('tokenBudget is Infinity')[1])
    })

    test('when subagents are unlimited, in number or in turns', () => {
      expect(off({ tools: [agent], maxSubagents: Infinity })).toEqual(because('maxSubagents is Infinity'))
      const guarded = { maxTurns: Infinity, stopWhen: new StepsLimitHook(5) }
      expect(off({ ...guarded, tools: [agent] })).toEqual(
        because('the turns of a subagent are not bounded: maxTurns is Infinity'),
      )
      // Without subagents, or with a guard that applies to them too, these options bound everything.
      expect(off({ ...guarded, tools: [agent], maxSubagents: 0 })[0]).toBe(true)
      expect(off({ ...guarded, tools: [agent], stopWhen: any(new StepsLimitHook(5)) })[0]).toBe(true)
      expect(off({ ...guarded })[0]).toBe(true)
      expect(off({ maxSubagents: Infinity })[0]).toBe(true)
    })

    test('but keeps bounds of tokens and dollars', () => {
      const bounds = certificate({
        model,
        prices: dollarATokenPrices,
        maxRetries: Infinity,
        maxTotalTokens: 9,
        maxBudgetUsd: 8,
      })
      expect([bounds.halts, bounds.tokens, bounds.usd]).toMatchObject([false, { value: 9 }, { value: 8 }])
    })
  })

  test('rejects unlimited bounds: a window, uses of a service or a grace time without end', () => {
    const endless = { ...model, maxServerToolUses: Infinity }
    const { halts, tokens, usd } = certificate({ model: endless, prices: dollarATokenPrices })
    const because = "scripted may use the service's server tools without a limit"
    expect([halts, tokens, usd]).toEqual([true, { bounded: false, because }, { bounded: false, because }])
    const wide = { ...model, contextWindow: Infinity }
    expect(certificate({ model: wide }).tokens).toEqual({
      bounded: false,
      because: 'scripted declares no bound for one request',
    })
    expect(certificate({ model, maxDurationMs: 1_000, graceMs: Infinity }).seconds).toEqual({
      bounded: false,
      because: 'graceMs is Infinity; running work may take any time to react to an abort',
    })
  })

  test('counts what a session has spent before against its budget', () => {
    const usdOf = (options: Partial<RunOptions>) =>
      certificate({ model, prices: dollarATokenPrices, maxBudgetUsd: 10, ...options }).usd
    expect([
      usdOf({ spentBeforeUsd: 4 }),
      usdOf({ spentBeforeUsd: 11 }),
      usdOf({ stopWhen: new CostLimitHook(2) }),
    ]).toEqual([
      { bounded: true, value: 6, because: 'maxBudgetUsd less spentBeforeUsd, reserved before each request' },
      { bounded: true, value: 0, because: 'maxBudgetUsd less spentBeforeUsd, reserved before each request' },
      { bounded: true, value: 2, because: 'a guard on cost, reserved before each request' },
    ])
  })

  test('counts the compactions of the main loop and of subagents: three per iteration, with four requests each, and their retries', () => {
    const context = { ...plainContext }
    const plain = { model, maxRetries: 0, maxTurns: 2 }
    const requests = (options: Partial<RunOptions>) => {
      const bound = certificate({ ...plain, ...options }).requests
      return bound.bounded ? bound.value : Number.NaN
    }
    const { laps, notes } = certificate({ ...plain, context })
    expect(requests({ context })).toBe((laps.bounded ? laps.value : Number.NaN) * (1 + 3 * 4))
    expect(requests({ context, tools: [agent], maxSubagents: 2 })).toBe(3 * requests({ context }))
    expect(requests({ context, maxRetries: 4 })).toBe(5 * requests({ context }))
    expect(notes).toEqual([])
  })

  test('counts the models that compactions ask', () => {
    const wide = { ...model, id: 'wide', contextWindow: 50_000 }
    const tokens = (context: ContextManager) => {
      const bound = certificate({ model, maxTurns: 1, context }).tokens
      return bound.bounded ? bound.value : Number.NaN
    }
    const plain = tokens({ ...plainContext })
    expect(tokens({ ...plainContext, models: [wide] })).toBe((plain / (1_000 + 100)) * (50_000 + 100))
  })

  test('counts the grace time of hooks after the end', () => {
    const hooks = [
      hook('afterExecution', () => {}),
      hook(['afterExecution', 'onStop'], () => {}),
      hook('onStop', () => {}),
    ]
    expect(certificate({ model, maxDurationMs: 60_000, graceMs: 500, hooks }).seconds).toEqual({
      bounded: true,
      value: 61.5,
      because: 'maxDurationMs, plus the grace time of running work and of each afterExecution hook',
    })
  })

  test('rejects options that cannot be run', () => {
    expect(() => certificate({ model, maxTurns: 0 })).toThrow(ConfigurationError)
  })
})

describe('no run exceeds its certificate', () => {
  const kinds = [
    'text',
    'tool',
    'cut',
    'pause',
    'image',
    'tooLong',
    'overloaded',
    'broken',
    'window',
    'refusal',
    'agent',
    'same',
  ] as const
  const reply = (kind: (typeof kinds)[number], index: number): ScriptedReply => {
    switch (kind) {
      case 'text':
        return 'answer'
      case 'tool':
        return calls({ name: 'Look', input: { index } })
      case 'same':
        return calls('Look')
      case 'agent':
        return calls('Agent')
      case 'cut':
        return { text: 'part', stopReason: 'max_tokens' }
      case 'pause':
        return { text: 'wait', stopReason: 'pause_turn' }
      case 'window':
        return { text: 'part', stopReason: 'model_context_window_exceeded' }
      case 'refusal':
        return { text: 'no', stopReason: 'refusal' }
      case 'broken':
        return { text: 'half', streamError: { kind: 'connection', message: 'x' } }
      case 'image':
        return { error: { kind: 'image', message: 'x', status: 400 } }
      case 'tooLong':
        return { error: { kind: 'prompt_too_long', message: 'x', status: 413 } }
      case 'overloaded':
        return { error: { kind: 'overloaded', message: 'x', status: 529 } }
      default:
        return kind satisfies never
    }
  }
  const chosen = fc.record({
    script: fc.infiniteStream(fc.constantFrom(...kinds)),
    maxTurns: fc.integer({ min: 1, max: 4 }),
    maxRetries: fc.integer({ min: 0, max: 3 }),
    tokenBudget: fc.constantFrom(null, 1_000),
    stopHooks: fc.boolean(),
    hooks: fc.boolean(),
    output: fc.boolean(),
    context: fc.boolean(),
    fallback: fc.boolean(),
    wrapUp: fc.boolean(),
    noProgress: fc.boolean(),
    agents: fc.boolean(),
    followUps: fc.boolean(),
    stepsLimit: fc.constantFrom(null, 2),
    maxToolCalls: fc.constantFrom(null, 1, 3),
  })

  test('in iterations, turns, requests or tool calls, for random behaviors of model, hooks and network', async () => {
    const seen = new Set<string>()
    await fc.assert(
      fc.asyncProperty(chosen, async (choice) => {
        const kindOf = choice.script[Symbol.iterator]()
        const next = (_request: unknown, index: number) => reply(kindOf.next().value as (typeof kinds)[number], index)
        let compacting = 0
        const compaction = (trigger: Compaction['trigger']): Compaction => ({
          trigger,
          run() {
            compacting += 4
            const messages = [{ role: 'user', content: 'compacted' }] as const
            // Every other compaction gives up, which costs no iteration.
            return Promise.resolve(
              compacting % 8 === 0
                ? { kind: 'gave_up', message: 'x' }
                : { kind: 'compacted', messages, preTokens: 9, postTokens: 1 },
            )
          },
        })
        const context = {
          ...plainContext,
          autoCompact: true,
          beforeRequest: () => compaction('auto'),
          drain: () => compaction('collapse'),
          compact: () => compaction('reactive'),
        }
        const main = scriptedModel(next, { maxOutputTokens: 200, defaultOutputTokens: 100 })
        const fallbackModel = scriptedModel(next, { id: 'fallback' })
        let compactions = 0
        const look: Tool = {
          ...reader('Look'),
          execute: () => {
            compactions++
            return 'seen'
          },
        }
        const counted: AgentTool = {
          ...agent,
          spawn: () => {
            compactions++
            return { prompt: 'sub' }
          },
        }
        const options: RunOptions & { readonly clock: ReturnType<typeof createFakeClock> } = {
          model: main,
          clock: createFakeClock({ autoAdvance: true }),
          tools: [look, ...(choice.agents ? [counted] : [])],
          maxSubagents: 3,
          maxTurns: choice.maxTurns,
          maxRetries: choice.maxRetries,
          tokenBudget: choice.tokenBudget,
          wrapUp: choice.wrapUp,
          ...(choice.maxToolCalls === null ? {} : { maxToolCalls: choice.maxToolCalls }),
          ...(choice.fallback ? { fallbackModel } : {}),
          ...(choice.output ? { output: { check: () => ({ fits: false, message: 'no' }) } } : {}),
          ...(choice.context ? { context } : {}),
          ...(choice.stopHooks ? { stopHooks: [{ id: 'gate', handle: () => ({ block: 'more' }) }] } : {}),
          ...(choice.hooks
            ? {
                hooks: [hook('onStop', (context) => context.withState(context.state().withExecutionContinued('more')))],
              }
            : {}),
          stopWhen: [
            ...(choice.noProgress ? [noProgress()] : []),
            ...(choice.stepsLimit === null ? [] : [new StepsLimitHook(choice.stepsLimit)]),
          ],
        }
        const bounds = certificate(options)
        const going = begin([], options)
        if (choice.followUps) for (let index = 0; index < 6; index++) going.loop.followUp('more')
        const { terminal, transitions } = await going.end()
        seen.add(terminal.reason)
        for (const transition of transitions) seen.add(transition)
        const value = (bound: (typeof bounds)['laps']) => (bound.bounded ? bound.value : Infinity)
        expect(bounds.halts).toBe(true)
        expect(transitions.length + 1).toBeLessThanOrEqual(value(bounds.laps))
        const requests = main.requests.length + fallbackModel.requests.length + compacting
        expect(requests).toBeLessThanOrEqual(value(bounds.requests))
        expect(compactions).toBeLessThanOrEqual(value(bounds.toolCalls))
        const turns =
          transitions.filter((transition) => transition === 'next_turn' || transition === 'user_input').length + 1
        expect(turns).toBeLessThanOrEqual(choice.maxTurns)
      }),
      { numRuns: drawn(600) },
    )
    // The random behaviors differed.
    expect(seen.size).toBeGreaterThan(15)
  })

  test('also with a custom guard that detects no progress', async () => {
    const own = { ...noProgress(), name: 'circles' }
    const runOptions = { tools: [reader('Look')], maxTurns: 6, stopWhen: own }
    const { transitions } = await run(() => calls('Look'), runOptions)
    const bounds = certificate({ ...runOptions, model: scriptedModel([]), maxRetries: 0 })
    const nudged = certificate({ ...runOptions, model: scriptedModel([]), maxRetries: 0, stopWhen: noProgress() })
    expect(transitions).toContain('no_progress_nudge')
    expect(bounds.laps).toEqual(nudged.laps)
  })
})
