import { transitionRules, transitions, type IterationReason } from '../limits/transition-rules.ts'
import { tokenTargetBound } from '../limits/token-target.ts'
import { askPrices, maxTokensFor, nanosOf, type RequestBound } from '../model/prices.ts'
import { compactionRequests, plainContext } from '../context/context-manager.ts'
import { appliesToAgents } from '../limits/limit-guards.ts'
import { maxQuestions } from '../goals/judged-goal.ts'
import type { Guard } from '../limits/guard.ts'
import type { StopHook } from '../hooks/stop-hooks.ts'
import { maxServiceWaits } from '../model/service-limit.ts'
import { extraBounds, type ModelBound } from '../model/extra-passes.ts'
import type { Model } from '../model/model.ts'
import { pricesOf } from '../run/model-prices.ts'
import { guardsOf, settingsOf, type RunOptions } from './options.ts'
import type { RunSettings } from '../run/run-context.ts'
import { toolDefinitionsOf } from '../tools/definitions.ts'
import { isAgentTool, modelsOfAgents, withToolsOfAgents } from '../tools/tool.ts'
import { countOf } from '../values/text.ts'

/** An upper bound that follows from the options, or the reason why none exists. */
export type Bound =
  | {
      readonly bounded: true
      /** The bound, in the unit of the field. */
      readonly value: number
      /** The option or limit that the bound comes from, in a sentence. */
      readonly because: string
    }
  | {
      readonly bounded: false
      /** Why there is no bound, in a sentence. */
      readonly because: string
    }

/** Upper bounds of a run, computed before anything runs. */
export interface Certificate {
  /** Whether every run with these options is guaranteed to halt: whether the number of its requests is bounded. */
  readonly halts: boolean
  /** Turns of the main loop that count against `maxTurns`. */
  readonly turns: Bound
  /** Iterations of the main loop, including recoveries and continuations. */
  readonly laps: Bound
  /** Attempts at model requests, including iterations, network retries, subagents and compactions. */
  readonly requests: Bound
  /** Tool calls of the run and its agents. */
  readonly toolCalls: Bound
  /** Tokens, from the lowest of the token and dollar limits. Without such a limit, the sum of the context windows of all requests. */
  readonly tokens: Bound
  /** US dollars of the run, including subagents and compactions. */
  readonly usd: Bound
  /** Checks of goals, including repeated checks of a goal that must pass several times. Excludes those of subagents. Absent without goals. */
  readonly checks?: Bound
  /** Seconds of active time. */
  readonly seconds: Bound
  /** Names of budgets that outlast the run and apply in addition to these bounds, for example `$20 a day`. Absent if there are none. */
  readonly standingBudgets?: readonly string[]
  /** What the figures do not cover. */
  readonly notes: readonly string[]
}

/** Computes the bounds that follow from the options. @throws ConfigurationError for options that cannot be run. */
export function certificate(options: RunOptions): Certificate {
  const settings = settingsOf(options)
  const turns = turnsBound(settings.maxTurns, guardsOf(options), options)
  const iterations = iterationsBound(turns, settings, options)
  const requests = requestsBound(iterations, options, settings)
  const checks = checksBound(turns, iterations, options, settings)
  const names = settings.standing?.names ?? []
  return {
    halts: requests.bounded,
    turns,
    laps: iterations,
    requests,
    toolCalls: toolCallsBound(settings),
    tokens: tokensBound(requests, options, settings),
    usd: usdBound(requests, options, settings),
    ...(checks !== undefined && { checks }),
    seconds: secondsBound(settings, options),
    ...(names.length > 0 && { standingBudgets: [...names] }),
    notes: notesOf(options),
  }
}

/** The bound on the turns of a run with these guards. */
function turnsBound(maxTurns: number, guards: readonly Guard[], options: RunOptions): Bound {
  // A hook may override a guard on steps once. The figure that the guard checks never falls below its limit again.
  const granted = (options.hooks?.length ?? 0) > 0 ? 1 : 0
  const value = Math.min(maxTurns, ...guards.flatMap(({ bounds }) => (bounds?.turns ?? Infinity) + granted))
  if (value === Infinity) return { bounded: false, because: 'maxTurns is Infinity' }
  return { bounded: true, value, because: value < maxTurns ? 'a guard on steps' : 'maxTurns' }
}

/** The transitions that are possible with these options. */
function openTransitions(options: RunOptions, settings: RunSettings): readonly IterationReason[] {
  const { model, fallbackModel } = options
  const closed: { readonly [transition in IterationReason]?: boolean } = {
    continuation_requested: (options.hooks?.length ?? 0) === 0,
    stop_hook_blocking: options.stopHooks?.some(({ of: scope = 'run' }) => scope === 'run') !== true,
    structured_output_retry: settings.output === null,
    max_output_tokens_escalate: (model.defaultOutputTokens ?? model.maxOutputTokens) >= model.maxOutputTokens,
    model_fallback: fallbackModel === undefined,
    reactive_compact_retry: hasPlainContext(options),
    collapse_drain_retry: hasPlainContext(options),
    wrap_up: !settings.wrapUp,
  }
  return transitions.filter(
    (transition) => transitionRules[transition].chargedTo === 'own' && closed[transition] !== true,
  )
}

function iterationsBound(turns: Bound, settings: RunSettings, options: RunOptions): Bound {
  if (!turns.bounded) return turns
  const gate = tokenTargetBound(settings.tokenBudget)
  if (gate === Infinity) return { bounded: false, because: 'tokenBudget is Infinity' }
  const value = iterationsFor(turns.value + gate, openTransitions(options, settings))
  return { bounded: true, value, because: 'turns, plus the retry limits of all other reasons to iterate' }
}

/** The maximum number of iterations: those that refill retry limits, plus the retry limits, which apply once per run or once per refill. */
function iterationsFor(refilling: number, open: readonly IterationReason[]): number {
  const sum = (resets: 'refill' | 'run'): number =>
    open.reduce(
      (total, transition) =>
        total + (transitionRules[transition].resets === resets ? transitionRules[transition].iterations : 0),
      0,
    )
  return refilling + sum('run') + sum('refill') * refilling
}

/**
 * The checks before the first request, at each answer, at a limit, and after each turn if so configured. Each round
 * checks every goal at most as often as it must pass.
 */
function checksBound(turns: Bound, iterations: Bound, options: RunOptions, settings: RunSettings): Bound | undefined {
  const { until = [], stopWhenMet = false } = options
  if (until.length === 0) return undefined
  const checksPerRound = until.reduce((sum, { stable = 1 }) => sum + stable, 0)
  const { maxGoalTries } = settings
  const gate = tokenTargetBound(settings.tokenBudget)
  // A hook that overrides an ending causes another iteration, which may reach another ending.
  const endings = (options.hooks?.length ?? 0) === 0 ? 1 : iterations.bounded ? iterations.value : Infinity
  // Answers that are sent back for unmet goals, answers that the token target continues, and answers at an ending.
  const answers = Math.min(maxGoalTries + gate + endings, iterations.bounded ? iterations.value + 1 : Infinity)
  const afterTurns = stopWhenMet ? (turns.bounded ? turns.value + endings : Infinity) : 0
  const value = checksPerRound * (1 + answers + endings + afterTurns)
  if (value === Infinity)
    return iterations.bounded ? { bounded: false, because: 'tokenBudget is Infinity' } : iterations
  const because = `${countOf(checksPerRound, 'check')} a round: before the first request, at each answer${stopWhenMet ? ', after each turn' : ''}, and at a limit`
  return { bounded: true, value, because }
}

/** Compactions that one iteration can make: one before the request, and two after a 413 response. */
const compactionsPerIteration = 3

function requestsBound(iterations: Bound, options: RunOptions, settings: RunSettings): Bound {
  if (!iterations.bounded) return iterations
  const attempts = settings.maxRetries + 1
  if (attempts === Infinity) return { bounded: false, because: 'maxRetries is Infinity' }
  const stagedRequests = options.context?.stage === undefined ? 0 : 1
  const perIteration =
    attempts * (1 + stagedRequests + (hasPlainContext(options) ? 0 : compactionsPerIteration * compactionRequests))
  const { maxSubagents, waitForLimitsMs } = settings
  // After each wait, all attempts are available again.
  const waits = maxServiceWaits(waitForLimitsMs) * attempts
  const waitNote = waits === 0 ? '' : ` (again after each wait for a service)`
  const ownReason = `iterations, each with at most ${countOf(attempts, 'attempt')}${waitNote}`
  if (maxSubagents === 0 || !(options.tools ?? []).some(isAgentTool)) {
    return { bounded: true, value: iterations.value * perIteration + waits, because: ownReason }
  }
  if (maxSubagents === Infinity) return { bounded: false, because: 'maxSubagents is Infinity' }
  const turns = turnsBound(settings.maxTurns, guardsOf(options).filter(appliesToAgents), options)
  if (!turns.bounded) {
    return { bounded: false, because: `the turns of a subagent are not bounded: ${turns.because}` }
  }
  const agentIterations = iterationsFor(turns.value, agentTransitions(options, settings))
  return {
    bounded: true,
    value: (iterations.value + maxSubagents * agentIterations) * perIteration + (1 + maxSubagents) * waits,
    because: `${ownReason}, and at most ${maxSubagents} subagents`,
  }
}

function agentTransitions(options: RunOptions, settings: RunSettings): readonly IterationReason[] {
  const stopHooks = (options.stopHooks ?? []).flatMap((hook): readonly StopHook[] =>
    hook.of === 'agents' ? [{ id: hook.id, handle: (input) => hook.handle(input) }] : [],
  )
  const ofAgents = withToolsOfAgents(options.tools ?? []).filter(isAgentTool)
  const output = ofAgents.find((tool) => tool.output !== undefined)?.output ?? null
  return openTransitions({ ...options, stopHooks }, { ...settings, output, wrapUp: false })
}

function hasPlainContext({ context = plainContext }: RunOptions): boolean {
  return context === plainContext
}

/** A reply may request any number of calls. */
function toolCallsBound({ maxToolCalls }: RunSettings): Bound {
  return maxToolCalls === Infinity
    ? { bounded: false, because: 'maxToolCalls is not set; a reply may request any number of calls' }
    : { bounded: true, value: maxToolCalls, because: 'maxToolCalls' }
}

/** The bound from token and dollar limits, which also cover requests of hooks and tools. Without a limit, what fits the context windows. */
function tokensBound(requests: Bound, options: RunOptions, settings: RunSettings): Bound {
  const limited: FiniteBound[] = []
  if (settings.maxTotalTokens !== Infinity)
    limited.push({
      bounded: true,
      value: settings.maxTotalTokens,
      because: `${options.maxTotalTokens === settings.maxTotalTokens ? 'maxTotalTokens' : 'a guard on tokens'}, reserved before each request`,
    })
  const { budget } = settings
  if (budget !== null && budget.tokens !== Infinity)
    limited.push({
      bounded: true,
      value: Math.max(0, budget.tokens - budget.spentTokens),
      because: `${budget.name}, reserved before each request`,
    })
  limited.push(...tokensOfMoney(options, settings))
  if (limited.length > 0) return limited.reduce((least, each) => (each.value < least.value ? each : least))
  const perRequest = modelsOf(options).map((model) => ({
    model,
    value: largestInput(model) + model.maxOutputTokens + tokensOfExtra(model),
  }))
  return timesRequests(
    requests,
    perRequest,
    "requests, each within the model's context window; set maxTotalTokens for a tighter bound",
  )
}

type FiniteBound = Extract<Bound, { readonly bounded: true }>

/**
 * The tokens that a dollar limit buys at the lowest price per token. Empty if a token is free or the lowest price is
 * unknown. A dollar limit bounds only tokens: refused requests cost nothing, so money does not bound the number of
 * requests.
 */
function tokensOfMoney(options: RunOptions, settings: RunSettings): readonly FiniteBound[] {
  const limit = dollarLimit(options, settings)
  if (limit === undefined) return []
  const prices = pricesOf(options)
  let cheapest: { readonly id: string; readonly usd: number } | undefined
  for (const id of billedModels(options)) {
    const answer = askPrices(() => prices.leastPerToken?.(id))
    if (answer.kind !== 'usd') return []
    if (cheapest === undefined || answer.usd < cheapest.usd) cheapest = { id, usd: answer.usd }
  }
  if (cheapest === undefined) return []
  const value = maxTokensFor(nanosOf(limit.usd), cheapest.usd)
  if (value === Infinity) return []
  const pricePerMillion = Number((cheapest.usd * 1e6).toPrecision(12))
  const because = `${limit.name} at $${pricePerMillion} per million tokens, the lowest price of ${cheapest.id}`
  return [{ bounded: true, value, because }]
}

/** The ids of all models that the service may bill for in a run. */
function billedModels(options: RunOptions): ReadonlySet<string> {
  return new Set(
    modelsOf(options).flatMap(({ id, extraPasses = [] }) => [id, ...extraPasses.map(({ model }) => model)]),
  )
}

/** The most expensive request, multiplied by the number of requests. */
function timesRequests(
  requests: Bound,
  perRequest: readonly { readonly model: Model; readonly value: number }[],
  because: string,
): Bound {
  if (!requests.bounded) return requests
  let highest = 0
  for (const { model, value } of perRequest) {
    if (model.maxServerToolUses === Infinity || model.extraPasses?.some(({ uses }) => uses === Infinity))
      return { bounded: false, because: `${model.id} may use the service's server tools without a limit` }
    if (!Number.isFinite(value)) return { bounded: false, because: `${model.id} declares no bound for one request` }
    highest = Math.max(highest, value)
  }
  return { bounded: true, value: requests.value * highest, because }
}

/** The largest input of a request. Each use of a server-side tool reads the whole window again. */
function largestInput({ contextWindow, maxServerToolUses = 0 }: Model): number {
  return contextWindow * (1 + maxServerToolUses)
}

/** What the service itself may add to the largest request. */
function extraOf(model: Model): readonly ModelBound[] {
  return extraBounds(model, largestInput(model), model.maxOutputTokens, Infinity)
}

function tokensOfExtra(model: Model): number {
  return extraOf(model).reduce((sum, { inputTokens, outputTokens }) => sum + inputTokens + outputTokens, 0)
}

function usdBound(requests: Bound, options: RunOptions, settings: RunSettings): Bound {
  const limit = dollarLimit(options, settings)
  if (limit !== undefined)
    return { bounded: true, value: limit.usd, because: `${limit.name}, reserved before each request` }
  const prices = pricesOf(options)
  const perRequest: { readonly model: Model; readonly value: number }[] = []
  for (const model of modelsOf(options)) {
    let value = 0
    for (const { model: id, ...bound } of requestBounds(model)) {
      const usd = prices.worstCase(id, bound)
      if (requests.bounded && usd === undefined) return { bounded: false, because: `no price is known for ${id}` }
      value += usd ?? Infinity
    }
    perRequest.push({ model, value })
  }
  return timesRequests(requests, perRequest, 'requests at the highest price; set maxBudgetUsd for a tighter bound')
}

/** The lower of the remaining session budget and the run's own limit, with the name of that limit. */
function dollarLimit(
  { spentBeforeUsd = 0, maxRunUsd: given }: RunOptions,
  { maxBudgetUsd, maxRunUsd, budget }: RunSettings,
): { readonly usd: number; readonly name: string } | undefined {
  const left = Math.max(0, maxBudgetUsd - spentBeforeUsd)
  const shared = budget === null ? Infinity : Math.max(0, budget.usd - budget.spentUsd)
  if (budget !== null && shared < Math.min(left, maxRunUsd)) return { usd: shared, name: budget.name }
  if (maxRunUsd < left) return { usd: maxRunUsd, name: maxRunUsd === given ? 'maxRunUsd' : 'a guard on cost' }
  if (left === Infinity) return undefined
  return { usd: left, name: spentBeforeUsd === 0 ? 'maxBudgetUsd' : 'maxBudgetUsd less spentBeforeUsd' }
}

/** The largest request, split by the models that may be billed for it. */
function requestBounds(model: Model): readonly (ModelBound & RequestBound)[] {
  const { id, maxOutputTokens: outputTokens, maxServerToolUses: serverToolUses = 0 } = model
  return [{ model: id, inputTokens: largestInput(model), outputTokens, serverToolUses }, ...extraOf(model)]
}

/** All models that a run may use: those of the options, its compactions and its subagents. */
function modelsOf({
  model,
  fallbackModel,
  models = [],
  context,
  tools = [],
  ...options
}: RunOptions): readonly Model[] {
  const ofAgents = options.maxSubagents === 0 ? [] : modelsOfAgents(tools)
  const ofFallback = fallbackModel === undefined ? [] : [fallbackModel]
  return [model, ...ofFallback, ...models, ...(context?.models ?? []), ...ofAgents]
}

function secondsBound({ maxDurationMs, graceMs }: RunSettings, { hooks = [] }: RunOptions): Bound {
  if (maxDurationMs === Infinity)
    return { bounded: false, because: 'maxDurationMs is not set; a request or a tool may take any time' }
  if (graceMs === Infinity)
    return { bounded: false, because: 'graceMs is Infinity; running work may take any time to react to an abort' }
  // Only these hooks are called after an abort, one after another.
  const last = hooks.filter(({ triggers }) => triggers.includes('afterExecution')).length
  const because = 'maxDurationMs, plus the grace time of running work'
  return {
    bounded: true,
    value: (maxDurationMs + graceMs * (1 + last)) / 1000,
    because: last === 0 ? because : `${because} and of each afterExecution hook`,
  }
}

function notesOf(options: RunOptions): readonly string[] {
  const notes: string[] = []
  if ((options.hooks?.length ?? 0) + (options.stopHooks?.length ?? 0) > 0)
    notes.push(
      'The number of requests excludes requests that hooks make with `ask`; dollar and token limits include them. Requests that hooks make after the run are not counted at all.',
    )
  const offered = new Set(toolDefinitionsOf(options.tools ?? [], options.model).map(({ name }) => name))
  const given = options.tools ?? []
  const askingTools = withToolsOfAgents(given).filter(
    (tool) => !isAgentTool(tool) && tool.asksModel === true && (!given.includes(tool) || offered.has(tool.name)),
  )
  if (askingTools.length > 0)
    notes.push(
      `The number of requests excludes requests that tools make (${askingTools.map(({ name }) => name).join(', ')}); dollar and token limits include them.`,
    )
  const judges = (options.until ?? []).filter(({ judged }) => judged === true)
  if (judges.length > 0)
    notes.push(
      `The number of requests excludes goal judges: at most ${maxQuestions} requests for each pass of a judgedGoal check. Dollar and token limits include them.`,
    )
  if (
    (options.until ?? []).length > 0 &&
    settingsOf(options).maxSubagents > 0 &&
    (options.tools ?? []).some(isAgentTool)
  )
    notes.push(
      'The number of checks excludes goals of subagents; the turn and try limits of each subagent bound those.',
    )
  if (options.background?.atEnd === 'wait')
    notes.push(
      `At an answer the run waits for background tasks: at most ${options.background.waitMs / 1000} s each time, or nine tenths of the time left. The model's next reply counts as a turn.`,
    )
  if (options.onLimit === 'pause')
    notes.push(
      'The run pauses at its limits. A limit that a person raises there replaces the option. ' +
        (options.pauseForMs === undefined
          ? 'Without pauseForMs it waits for an answer indefinitely.'
          : 'It ends if no answer arrives within pauseForMs.'),
    )
  if (options.waitForLimitsMs !== undefined && options.waitForLimitsMs > 0)
    notes.push(
      'Waits for services do not count as active time; waitForLimitsMs bounds them by the wall clock. A retry that a person requests during a wait adds a request.',
    )
  if ((options.postRun?.length ?? 0) > 0) notes.push('Work after the run has its own bounds.')
  return notes
}
