import { allowances, transitions, type Transition } from './allowance.ts'
import { tokenGateBound } from './budget/token-target.ts'
import { noPrices } from './budget/prices.ts'
import { plainContext } from './context/port.ts'
import type { Model } from './model/model.ts'
import { guardsOf, settingsOf, type LoopOptions } from './options.ts'
import type { RunSettings } from './run-context.ts'
import { isAgentTool } from './tools/tool.ts'

/** A bound that follows from the options, or why there is none. */
export type Bound =
  | { readonly bounded: true; readonly value: number; readonly because: string }
  | { readonly bounded: false; readonly because: string }

/** What a run cannot exceed, told before anything runs. */
export interface Certificate {
  /** Whether every run with these options halts by construction. */
  readonly halts: boolean
  /** Turns of the main loop that count against `maxTurns`. */
  readonly turns: Bound
  /** Times round the main loop, recoveries and continuations included. */
  readonly laps: Bound
  /** Attempts at model requests: laps, network retries, subagents, compactions. */
  readonly requests: Bound
  readonly tokens: Bound
  readonly usd: Bound
  /** Seconds of active time. */
  readonly seconds: Bound
  /** What the figures do not cover. */
  readonly notes: readonly string[]
}

/** The bounds that follow from the options. @throws ConfigurationError for options that cannot be run. */
export function certificate(options: LoopOptions): Certificate {
  const settings = settingsOf(options)
  const turns = turnsBound(settings, options)
  const main = lapsFor(turns, openTransitions(options, settings), tokenGateBound(settings.tokenBudget))
  const laps: Bound = turns.bounded
    ? { bounded: true, value: main, because: 'turns, and the allowance of every other reason to go round' }
    : { bounded: false, because: turns.because }
  const requests = requestsBound(laps, options, settings)
  return {
    halts: turns.bounded,
    turns,
    laps,
    requests,
    tokens: tokensBound(requests, options, settings),
    usd: usdBound(requests, options, settings),
    seconds: secondsBound(settings),
    notes: notesOf(options),
  }
}

function turnsBound(settings: RunSettings, options: LoopOptions): Bound {
  const guards = guardsOf(options).flatMap((guard) => guard.bounds?.turns ?? [])
  // A hook may ask to go on although a guard fired, once: what a guard on steps measures never falls below its limit again.
  const granted = (options.hooks?.length ?? 0) > 0 ? 1 : 0
  const value = Math.min(settings.maxTurns, ...guards.map((turns) => turns + granted))
  if (value === Infinity) return { bounded: false, because: 'maxTurns is Infinity' }
  return { bounded: true, value, because: value < settings.maxTurns ? 'a guard on steps' : 'maxTurns' }
}

/** Guards that are known never to speak of progress; any other may. */
const limitGuards: ReadonlySet<string> = new Set([
  'StepsLimitHook',
  'TokenUsageLimitHook',
  'ExecutionTimeLimitHook',
  'CostLimitHook',
  'FinishReasonHook',
])

/** The transitions that these options leave open at all. */
function openTransitions(options: LoopOptions, settings: RunSettings): readonly Transition[] {
  const { model, fallbackModel } = options
  const context = options.context ?? plainContext
  const closed: { readonly [transition in Transition]?: boolean } = {
    continuation_requested: (options.hooks?.length ?? 0) === 0,
    stop_hook_blocking: (options.stopHooks?.length ?? 0) === 0,
    structured_output_retry: settings.output === null,
    max_output_tokens_escalate: (model.defaultOutputTokens ?? model.maxOutputTokens) >= model.maxOutputTokens,
    model_fallback: fallbackModel === undefined,
    reactive_compact_retry: context === plainContext,
    collapse_drain_retry: context === plainContext,
    no_progress_nudge: guardsOf(options).every((guard) => limitGuards.has(guard.name)),
    wrap_up: !settings.wrapUp,
  }
  return transitions.filter((transition) => allowances[transition].purse === 'own' && closed[transition] !== true)
}

/** Laps of a run: the first turn, its purses, and the refillable allowances once for every refill. */
function lapsFor(turns: Bound, open: readonly Transition[], gate: number): number {
  if (!turns.bounded) return Infinity
  const sum = (period: 'refill' | 'run'): number =>
    open.reduce(
      (total, transition) => total + (allowances[transition].period === period ? allowances[transition].laps : 0),
      0,
    )
  return turns.value + gate + sum('run') + sum('refill') * (turns.value + gate)
}

function requestsBound(laps: Bound, options: LoopOptions, settings: RunSettings): Bound {
  if (!laps.bounded) return laps
  const attempts = settings.maxRetries + 1
  const compactions = (options.context ?? plainContext) === plainContext ? 0 : laps.value * compactionRequests
  const main = laps.value * attempts + compactions
  if (!(options.tools ?? []).some(isAgentTool))
    return { bounded: true, value: main, because: `laps, each with at most ${attempts} attempts` }
  const child =
    lapsFor({ bounded: true, value: settings.maxTurns, because: '' }, childTransitions(options, settings), 0) * attempts
  const value = main + settings.maxSubagents * child
  return {
    bounded: true,
    value,
    because: `laps, each with at most ${attempts} attempts, and at most ${settings.maxSubagents} subagents`,
  }
}

/** A compaction asks once and, with the oldest groups dropped, three times more. */
const compactionRequests = 4

function childTransitions(options: LoopOptions, settings: RunSettings): readonly Transition[] {
  return openTransitions({ ...options, stopHooks: [] }, { ...settings, output: null, wrapUp: false })
}

function tokensBound(requests: Bound, options: LoopOptions, settings: RunSettings): Bound {
  if (settings.maxTokens !== Infinity)
    return { bounded: true, value: settings.maxTokens, because: 'maxTokens, reserved before each request' }
  if (!requests.bounded) return requests
  const value = requests.value * largestRequest(options)
  return {
    bounded: true,
    value,
    because: "requests, each within the model's window; set maxTokens for a bound of your own",
  }
}

function largestRequest(options: LoopOptions): number {
  return Math.max(...modelsOf(options).map((model) => largestInput(model) + model.maxOutputTokens))
}

/** Each use of a tool of the service's own reads the whole window again. */
function largestInput({ contextWindow, maxServerToolUses = 0 }: Model): number {
  return contextWindow * (1 + maxServerToolUses)
}

function usdBound(requests: Bound, options: LoopOptions, settings: RunSettings): Bound {
  const budget = Math.min(settings.maxBudgetUsd, settings.maxRunUsd)
  if (budget !== Infinity) {
    return { bounded: true, value: budget, because: 'maxBudgetUsd, reserved before each request' }
  }
  if (!requests.bounded) return requests
  const prices = options.prices ?? noPrices
  let dearest = 0
  for (const model of modelsOf(options)) {
    const usd = prices.worstCase(model.id, {
      inputTokens: largestInput(model),
      outputTokens: model.maxOutputTokens,
      serverToolUses: model.maxServerToolUses ?? 0,
    })
    if (usd === undefined) return { bounded: false, because: `there is no price for ${model.id}` }
    dearest = Math.max(dearest, usd)
  }
  return {
    bounded: true,
    value: requests.value * dearest,
    because: 'requests at the dearest price; set maxBudgetUsd for a bound of your own',
  }
}

function modelsOf({ model, fallbackModel }: LoopOptions) {
  return fallbackModel === undefined ? [model] : [model, fallbackModel]
}

function secondsBound(settings: RunSettings): Bound {
  if (settings.maxDurationMs === Infinity) {
    return { bounded: false, because: 'maxDurationMs is not set: a request or a tool may take any time' }
  }
  const value = (settings.maxDurationMs + settings.graceMs) / 1000
  return { bounded: true, value, because: 'maxDurationMs, and the grace time of what is in flight' }
}

function notesOf(options: LoopOptions): readonly string[] {
  const notes: string[] = []
  if ((options.hooks?.length ?? 0) + (options.stopHooks?.length ?? 0) > 0)
    notes.push('Hooks that ask a model of their own are not counted: they have no line in the ledger.')
  if ((options.postRun?.length ?? 0) > 0) notes.push('Work after the run has bounds of its own.')
  return notes
}
