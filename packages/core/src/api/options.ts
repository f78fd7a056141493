import { isBackground, type Background } from '../verification/background.ts'
import { tokenTargetBound } from '../limits/token-target.ts'
import { isBudgetLease, type BudgetLease } from '../limits/lease.ts'
import { isSharedBudget, ledgerOfBudget, type SharedRunBudget } from '../limits/run-budget.ts'
import { isStandingBudgets, type StandingBudgets } from '../limits/standing.ts'
import { Ledger } from '../limits/ledger.ts'
import { nanosOf, type Prices } from '../model/prices.ts'
import type { CancellationSource } from '../hooks/cancellation-source.ts'
import { plainContext, type ContextManager } from '../context/port.ts'
import { checkedTokens, roughTokens, type Tokens } from '../model/tokens.ts'
import {
  checkOptions,
  engineOptionChecks,
  isClock,
  isContext,
  isDriver,
  isModel,
  isOutput,
  isPermissions,
  isPrices,
  isSignal,
  isSource,
  isStopHook,
  isTask,
  isTokens,
  type OptionChecks,
} from '../tools/check-options.ts'
import { ConfigurationError } from '../values/errors.ts'
import {
  isEither,
  isFunction,
  isListOf,
  isNumber,
  isNumberOrNull,
  isObject,
  isPositive,
  isText,
  isYesOrNo,
  type Given,
} from '../values/given.ts'
import { isGuards } from '../limits/check-guards.ts'
import { isHook } from '../hooks/check-hook.ts'
import type { Goal, GoalFiles } from '../goals/goal.ts'
import type { GoalSpec } from '../verification/goal-record.ts'
import { isGoalFiles, isGoals, usualGoalTries, type RunGoals } from '../goals/run-goals.ts'
import { any } from '../limits/combinators.ts'
import { type Guard, registerGuards } from '../limits/guard.ts'
import { isVerification, type Verification } from '../verification/verification.ts'
import { guardsOfPolicy, type NoProgressPolicy } from '../limits/no-progress.ts'
import type { HookFigures } from '../hooks/hook-figures.ts'
import { type Hook, createHookRegistry } from '../hooks/hook.ts'
import { registerStopHooks, type PostRunTask, type StopHook } from '../hooks/stop-hooks.ts'
import { runLoop } from '../loop/loop.ts'
import type { AskLimit } from '../state/limit-question.ts'
import { isMediaLimits, mediaLimitsWith, type MediaLimits } from '../model/media/limits.ts'
import type { Model, Thinking } from '../model/model.ts'
import { longestWaitForLimitsMs } from '../model/service-limit.ts'
import { pricesOf } from '../run/model-prices.ts'
import {
  checkToolChoice,
  isReplyLimit,
  isSeed,
  isStopSequences,
  isTemperature,
  isToolChoice,
  isTopP,
  samplingOf,
  type ToolChoice,
} from '../model/sampling.ts'
import { namedModelsOf } from '../run/named-models.ts'
import { systemWithOutput, type OutputSchema } from '../tools/output-schema.ts'
import type { LimitsChange } from '../state/settings-change.ts'
import type { ErrorPolicy, RunContext, RunSettings } from '../run/run-context.ts'
import { checkBudgetable, checkedThinking, checkLimits, isThinking } from '../run/check-settings.ts'
import { steadyClock, type Clock } from '../values/clock.ts'
import type { StepEngine } from '../steps/steps.ts'
import { systemClock } from '../values/system-clock.ts'
import type { RunResult } from '../endings/terminal.ts'
import { isToolAliases, type ToolAliases, toolDefinitionsOf, toolsByName } from '../tools/definitions.ts'
import { checkToolNames, isAnyTool } from '../tools/check-tool.ts'
import type { CanUseTool } from '../run/can-use-tool.ts'
import { allowAll, type Permissions } from '../tools/permissions.ts'
import { isLargeResults, type LargeResults } from '../tools/large-results.ts'
import { modelsOfAgents, type AnyTool } from '../tools/tool.ts'

/** Everything that a run can be given; all but the model has a default. */
export interface RunOptions {
  /** The model that the run asks. */
  readonly model: Model
  /** Takes over when the model is overloaded three times in a row, or as often as `maxRetries` lets it be asked. */
  readonly fallbackModel?: Model
  /** Further models that may be chosen by their id while a run goes on (`RunStream.set`). */
  readonly models?: readonly Model[]
  /**
   * Makes a model by a name that people know, for `RunStream.set({ model })` with a name that none of the others has as its id. Undefined for none; what it
   * throws is told to whoever sets it. A name is asked about once.
   */
  readonly modelNamed?: (name: string) => Model | undefined
  /** How much the model may think; as the model was made when absent. */
  readonly thinking?: Thinking
  /** How varied the answers are: 0 for the most likely one, at most 2. A service that does not take it is asked without it, and a notice says so once. */
  readonly temperature?: number
  /** Consider only the most likely tokens, up to this share of the probability (above 0, at most 1). As for `temperature`, a service may not take it. */
  readonly topP?: number
  /** A reply ends before the first of these texts. Subagents do not have them. As for `temperature`, a service may not take them. */
  readonly stopSequences?: readonly string[]
  /** The same seed and request tend to get the same answer. A whole number. As for `temperature`, a service may not take it. */
  readonly seed?: number
  /**
   * Whether the model is to call a tool: `auto` (the default), `none`, `required`, or `{ tool: 'name' }`. A call is required until the run has called a tool,
   * not for every request: afterwards the model may answer, so that the run ends. Subagents do not have it.
   */
  readonly toolChoice?: ToolChoice
  /** Most tokens of one reply, where that is less than the model's. A reply that is cut there is continued, as at the limit of the model. */
  readonly maxOutputTokens?: number
  /** The system prompt. Default: none. */
  readonly system?: string
  /** Tools that the model may call, each name once. Default: none. */
  readonly tools?: readonly AnyTool[]
  /**
   * Gives further tools by their names, which `RunStream.set({ tools })` adds while a run goes on: those of a server that answers late, or that a
   * search has found. One that is not there (any more) is left out.
   */
  readonly moreTools?: (name: string) => AnyTool | undefined
  // Spec R-TOOL-20.
  /**
   * Which tool a call by another name is of: `{ Bash: 'mcp__workspace__bash' }`. Rules and hooks see the tool that runs; the transcript keeps the name
   * that the model wrote.
   */
  readonly toolAliases?: ToolAliases

  /** Turns that may happen; 1,000 when nothing is said. `Infinity` gives up the promise that the run halts. */
  readonly maxTurns?: number
  /** Never overshot: reserved before each request. Needs a price of the model: its own (`Model.prices`), or one of `prices`. */
  readonly maxBudgetUsd?: number
  /** The same for one run: what earlier runs of the session spent does not count. */
  readonly maxRunUsd?: number
  /** A share of a budget that other sessions spend from, too: it holds beside `maxBudgetUsd`. */
  readonly lease?: BudgetLease
  /** A budget that several runs of this process spend from at once (`sharedBudget`); the other limits hold as well. */
  readonly budget?: SharedRunBudget
  // Spec R-STAND-1.
  /** Budgets that go on beyond runs and processes, such as so many dollars a day: each request takes from them before it is made. */
  readonly standing?: StandingBudgets
  /** Tokens of the whole run, input (cached too) plus output, subagents too; reserved like dollars. */
  readonly maxTotalTokens?: number
  // Spec R-SERV-1.
  /**
   * Milliseconds by the wall clock that the run may wait for services that are over their limit or out of order, over resumes; 0 when absent, at most 31
   * days. Active time stands still meanwhile, and nothing is billed.
   */
  readonly waitForLimitsMs?: number
  /** Active milliseconds; a call in flight is aborted. */
  readonly maxDurationMs?: number
  // Spec R-CALLS-1.
  /** Calls of tools that the model may ask for, those of subagents too. A reply that asks for more ends the run once those that fit are done. */
  readonly maxToolCalls?: number
  // Spec R-TELL-1.
  /** Tells the model what is left, once each at 50, 80 and 95 % of a limit; false when absent. */
  readonly limitReminders?: boolean
  // Spec R-GATE-2.
  /** Output tokens to use up before an answer is taken as final. */
  readonly tokenBudget?: number | null
  /** Guards to stop on; several are combined with `any`. */
  readonly stopWhen?: Guard | readonly Guard[]
  /**
   * What happens when the run repeats itself: `remind` reminds the model, `stop` reminds it after 3 equal rounds and ends the run as `no_progress` after 5,
   * `off` does nothing. Default: `remind` for `run`, `query` and `QueryEngine`, `off` for `streamRun`. A guard of `stopWhen` that looks at
   * repetition, such as `noProgress()`, takes its place.
   */
  readonly noProgress?: NoProgressPolicy
  /** Ask for a last answer, without tools, when a limit is hit. */
  readonly wrapUp?: boolean

  /** What the answer must fit: it is sent back with what is wrong, up to 5 times. `outputSchema(z.object({ … }))` makes one. */
  readonly output?: OutputSchema
  /** Decides which failures of tools and hooks end the run as `error`. Default: none does, and the model is told. */
  readonly errorPolicy?: ErrorPolicy
  /** Decides about calls before they run. Default: `allowAll`. */
  readonly permissions?: Permissions
  /** Asks a person about calls that rules and hooks leave open, and waits for the answer, whatever `onAsk` says. */
  readonly canUseTool?: CanUseTool
  /** How long an answer of `canUseTool` is waited for, in milliseconds; without end when absent, as a person may take long. */
  readonly canUseToolTimeoutMs?: number
  /** What a call does that a person must approve: end the run as `needs_approval` (the default), or wait for the answer. */
  readonly onAsk?: 'end' | 'wait'
  // Spec R-PAUSE-1.
  /**
   * What happens at a limit that a person may raise: the run ends (the default), or it pauses and asks, by `askLimit` or the event `limit_question`. Raised, it goes on; without an answer it ends as the limit says.
   */
  readonly onLimit?: 'end' | 'pause'
  /** How long an answer is waited for at a limit, in milliseconds by the wall clock, over resumes; without end when absent. */
  readonly pauseForMs?: number
  /** Asks a person at a limit, where `onLimit` is `pause`. Without it `RunStream.answerLimit` answers. */
  readonly askLimit?: AskLimit
  /** What limits may be raised to at a pause, such as by an administrator's settings; no end for those that are left out. */
  readonly limitCeilings?: LimitsChange
  /** Called at moments of the run; they can change what happens next. Default: none. */
  readonly hooks?: readonly Hook[]
  /** Asked when the model has answered; they can send it back to work. Default: none. */
  readonly stopHooks?: readonly StopHook[]
  // Spec R-GOAL-1.
  /** What must hold before the run may end as `completed`: programs check it, out of the model's reach. `commandGoal` of `@halting/agent` makes one of a command. */
  readonly until?: readonly Goal[]
  /** How often an answer is sent back because a goal is not met: 1 to 1,000; 10. */
  readonly maxGoalTries?: number
  /** Ends at once, without a request, where the goals hold at the start. */
  readonly skipIfMet?: boolean
  /** Checks the goals after each turn that changed something, and ends as soon as they hold. */
  readonly stopWhenMet?: boolean
  /** Looks after the files around the checks: what is protected, what a check changes (`goalFiles` of `@halting/agent`). */
  readonly goalFiles?: GoalFiles
  /** Makes a goal from its name on record, for a run that is gone on with and for `RunStream.set({ until })`. */
  readonly goalNamed?: (spec: GoalSpec) => Goal | undefined
  /** An answer for which the goals do not hold, and before which no tool was called since the last message or try: sent back, or (`end`) left to the person. */
  readonly unmetWithoutWork?: 'send_back' | 'end'
  // Spec R-VERI-2.
  /** How changes that no check followed are heeded: the model is asked once (`ask`), or only `RunResult.verified` says so (`tell`). Default: nobody looks. */
  readonly verification?: Verification
  /** Work that begins when the run has completed, and does not delay its result. Default: none. */
  readonly postRun?: readonly PostRunTask[]
  /** Asked at every cancellation point whether the run is to stop. Default: none. */
  readonly cancellation?: readonly CancellationSource[]
  // Spec R-BACK-1.
  /** What tools start that goes on beside the run, such as `backgroundOf` of `@halting/agent`. */
  readonly background?: Background

  /** What models cost: goes before the prices that the models bring, model by model. */
  readonly prices?: Prices
  /** Estimates how many tokens messages have. Default: a rough estimate by their length. */
  readonly tokens?: Tokens
  /** What keeps the conversation within the model's window; `plainContext` when absent, `contextLayers()` for all there is. */
  readonly context?: ContextManager
  /** Tokens of input that fit, in place of what the models say. A refusal that says less is believed all the same. */
  readonly contextWindow?: number
  // Spec R-TOOL-18.
  /** Keeps results that are too large to be shown whole. Without it every result is shown as its tool gave it. */
  readonly largeResults?: LargeResults
  // Spec R-MEDIA-1.
  /** What the service takes of images and documents, where it is not what the Messages API takes. */
  readonly mediaLimits?: Partial<MediaLimits>
  /** The driver. Without one nothing is kept; `createMemorySteps()` keeps what a resume or a replay needs. */
  readonly steps?: StepEngine
  /** Where time comes from. Default: the system's clock. */
  readonly clock?: Clock
  /** Aborts the run; `controller.abort('interrupt')` says that a new message is the reason. */
  readonly signal?: AbortSignal
  /** Called once, with the terminal and what the run has used, also when nobody listens any more. */
  readonly onResult?: (terminal: RunResult, figures: HookFigures) => void

  /** Least output tokens worth asking for; 1,024. */
  readonly minUsefulTokens?: number
  /** Network retries of one request; 10. */
  readonly maxRetries?: number
  /** Milliseconds that an effect has to heed an abort; 250. */
  readonly graceMs?: number
  /** Read-only calls at once; 10. */
  readonly toolConcurrency?: number
  /** Subagents that a run may have, on all levels together; 50. */
  readonly maxSubagents?: number
  /** Levels of subagents: with 1 they start none themselves; 3. */
  readonly maxSubagentDepth?: number
  /** Stop-hook blocks in a row, at most 8. */
  readonly stopHookBlockCap?: number
  /** What the session has spent before, in US dollars, without what `carry` brings: it counts against `maxBudgetUsd`. A `QueryEngine` adds its runs. */
  readonly spentBeforeUsd?: number
  /** Parts of what people say, by name: for stop hooks and `contextUsage`. The loop itself sends none of it. Default: none. */
  readonly userContext?: { readonly [key: string]: string }
  /** Parts of the system prompt, by name: for stop hooks and `contextUsage`. The loop itself sends none of it. Default: none. */
  readonly systemContext?: { readonly [key: string]: string }
}

/** What each option must be: one without a check does not compile. A limit is looked at here for its type alone. */
const loopChecks: { readonly [option in keyof RunOptions]-?: Given } = {
  model: isModel,
  fallbackModel: isModel,
  models: isListOf(isModel),
  modelNamed: isFunction,
  thinking: isThinking,
  temperature: isTemperature,
  topP: isTopP,
  stopSequences: isStopSequences,
  seed: isSeed,
  toolChoice: isToolChoice,
  maxOutputTokens: isReplyLimit,
  system: isText,
  tools: isListOf(isAnyTool),
  moreTools: isFunction,
  toolAliases: isToolAliases,
  maxTurns: isNumber,
  maxBudgetUsd: isNumber,
  maxRunUsd: isNumber,
  lease: isBudgetLease,
  budget: isSharedBudget,
  standing: isStandingBudgets,
  maxTotalTokens: isNumber,
  maxDurationMs: isNumber,
  maxToolCalls: isNumber,
  waitForLimitsMs: isNumber,
  limitReminders: isYesOrNo,
  tokenBudget: isNumberOrNull,
  stopWhen: isGuards,
  noProgress: isEither('remind', 'stop', 'off'),
  wrapUp: isYesOrNo,
  output: isOutput,
  errorPolicy: isFunction,
  permissions: isPermissions,
  canUseTool: isFunction,
  canUseToolTimeoutMs: isPositive,
  onAsk: isEither('end', 'wait'),
  onLimit: isEither('end', 'pause'),
  pauseForMs: isPositive,
  askLimit: isFunction,
  limitCeilings: isObject('an object'),
  hooks: isListOf(isHook),
  stopHooks: isListOf(isStopHook),
  until: isGoals,
  maxGoalTries: isNumber,
  skipIfMet: isYesOrNo,
  stopWhenMet: isYesOrNo,
  goalFiles: isGoalFiles,
  goalNamed: isFunction,
  unmetWithoutWork: isEither('send_back', 'end'),
  verification: isVerification,
  postRun: isListOf(isTask),
  cancellation: isListOf(isSource),
  background: isBackground,
  prices: isPrices,
  tokens: isTokens,
  context: isContext,
  contextWindow: isPositive,
  largeResults: isLargeResults,
  mediaLimits: isMediaLimits,
  steps: isDriver,
  clock: isClock,
  signal: isSignal,
  onResult: isFunction,
  minUsefulTokens: isNumber,
  maxRetries: isNumber,
  graceMs: isNumber,
  toolConcurrency: isNumber,
  maxSubagents: isNumber,
  maxSubagentDepth: isNumber,
  stopHookBlockCap: isNumber,
  spentBeforeUsd: isNumber,
  userContext: isObject('an object'),
  systemContext: isObject('an object'),
}

const optionChecks: OptionChecks = { ...loopChecks, ...engineOptionChecks }

/** Turns of a run of which nobody says anything. */
export const usualMaxTurns = 1_000

/** The options with every default filled in. @throws ConfigurationError for what cannot be run. */
export function settingsOf(options: RunOptions): RunSettings {
  checkOptions(options, optionChecks)
  const guard = guardBounds(options)
  const settings: RunSettings = {
    system: systemWithOutput(options.system, options.output),
    contextWindow: options.contextWindow ?? null,
    maxTurns: options.maxTurns ?? usualMaxTurns,
    maxBudgetUsd: options.maxBudgetUsd ?? Infinity,
    lease: options.lease ?? null,
    budget: options.budget ?? null,
    standing: options.standing ?? null,
    maxRunUsd: Math.min(options.maxRunUsd ?? Infinity, guard.usd ?? Infinity),
    maxTotalTokens: Math.min(totalTokensLimit(options), guard.tokens ?? Infinity),
    maxDurationMs: Math.min(options.maxDurationMs ?? Infinity, guard.ms ?? Infinity),
    maxToolCalls: options.maxToolCalls ?? Infinity,
    waitForLimitsMs: options.waitForLimitsMs ?? 0,
    tokenBudget: options.tokenBudget ?? null,
    minUsefulTokens: options.minUsefulTokens ?? 1_024,
    maxRetries: options.maxRetries ?? 10,
    graceMs: options.graceMs ?? 250,
    toolConcurrency: options.toolConcurrency ?? 10,
    wrapUp: options.wrapUp ?? false,
    thinking: options.thinking === undefined || options.thinking === null ? null : checkedThinking(options.thinking),
    sampling: samplingOf(options),
    toolChoice: options.toolChoice ?? null,
    maxOutputTokens: options.maxOutputTokens ?? Infinity,
    permissionMode: null,
    permissionUpdates: none,
    canUseToolTimeoutMs: options.canUseToolTimeoutMs ?? Infinity,
    onLimit: options.onLimit ?? 'end',
    pauseForMs: options.pauseForMs ?? Infinity,
    limitCeilings: options.limitCeilings ?? noneByName,
    output: options.output ?? null,
    errorPolicy: options.errorPolicy ?? null,
    onAsk: options.onAsk ?? 'end',
    maxSubagents: options.maxSubagents ?? 50,
    maxSubagentDepth: options.maxSubagentDepth ?? 3,
    stopHookBlockCap: Math.min(8, options.stopHookBlockCap ?? 8),
    maxGoalTries: options.maxGoalTries ?? usualGoalTries,
    limitReminders: options.limitReminders ?? false,
    userContext: options.userContext ?? noneByName,
    systemContext: options.systemContext ?? noneByName,
    querySource: 'main',
  }
  validate(settings, options)
  return settings
}

/** @throws ConfigurationError for a limit that cannot be applied. */
function totalTokensLimit({ maxTotalTokens: limit }: RunOptions): number {
  if (limit === undefined || limit > 0) return limit ?? Infinity
  throw new ConfigurationError(`maxTotalTokens must be above 0, but it is ${limit}. Leave it out for no limit.`)
}

export function guardsOf({ stopWhen, noProgress }: RunOptions): readonly Guard[] {
  const given = stopWhen === undefined ? [] : 'evaluate' in stopWhen ? [stopWhen] : stopWhen
  return [...given, ...guardsOfPolicy(noProgress, given)]
}

function guardBounds(options: RunOptions): NonNullable<Guard['bounds']> {
  return any(...guardsOf(options)).bounds ?? {}
}

const counts = ['maxRetries', 'maxSubagents', 'maxSubagentDepth', 'stopHookBlockCap'] as const

function validate(settings: RunSettings, options: RunOptions): void {
  // A guard refuses its own bound itself.
  if (options.maxRunUsd !== undefined && !(options.maxRunUsd > 0))
    throw new ConfigurationError(
      `maxRunUsd must be above 0, but it is ${options.maxRunUsd}. Leave it out for no limit.`,
    )
  checkLimits(settings)
  for (const name of [...counts, 'toolConcurrency'] as const) {
    if (settings[name] !== Infinity && !Number.isInteger(settings[name])) {
      throw new ConfigurationError(`${name} must be a whole number, but it is ${settings[name]}.`)
    }
  }
  if (Number.isNaN(settings.tokenBudget))
    throw new ConfigurationError('tokenBudget must be a number of tokens or null.')
  if (!((options.spentBeforeUsd ?? 0) >= 0)) throw new ConfigurationError('spentBeforeUsd must be at least 0.')
  for (const name of [...counts, 'graceMs'] as const) {
    if (!(settings[name] >= 0)) throw new ConfigurationError(`${name} must be at least 0, but it is ${settings[name]}.`)
  }
  const { waitForLimitsMs } = settings
  if (!(waitForLimitsMs >= 0 && waitForLimitsMs <= longestWaitForLimitsMs))
    throw new ConfigurationError(
      `waitForLimitsMs must be 0 to ${longestWaitForLimitsMs} milliseconds, which are 31 days, but it is ${waitForLimitsMs}.`,
    )
  toolsByName(options.tools ?? [])
  checkToolNames(options.tools ?? [], modelsOf(options))
  checkToolChoice(
    options.toolChoice,
    (options.tools ?? []).map(({ name }) => name),
  )
  checkModels(options)
  const { fallbackModel, context } = options
  const prices = pricesOf(options)
  const asked = [options.model, ...(fallbackModel === undefined ? [] : [fallbackModel]), ...(context?.models ?? [])]
  for (const model of asked) checkBudgetable(model, prices, settings)
}

/** The models of the options; each once. */
function modelsOf({ model, fallbackModel, models = [] }: RunOptions): readonly Model[] {
  return [...new Set([model, ...(fallbackModel === undefined ? [] : [fallbackModel]), ...models])]
}

/** A choice is on record by its id. */
function checkModels({ models = [], ...options }: RunOptions): void {
  if (models.length === 0) return
  const ids = modelsOf({ models, ...options }).map(({ id }) => id)
  const twice = ids.find((id, index) => ids.indexOf(id) !== index)
  if (twice !== undefined) throw new ConfigurationError(`There are two models ${twice}: one could not be chosen.`)
}

/** What runs of these options share. Holds for every `RunOptions` object once, however many runs it has. */
export function contextOf(options: RunOptions): RunContext {
  let context = contexts.get(options)
  if (context === undefined) contexts.set(options, (context = newContext(options)))
  return context
}

const contexts = new WeakMap<RunOptions, RunContext>()

const noAliases: RunContext['toolAliases'] = new Map()
const none: readonly never[] = Object.freeze([])
const noneByName: { readonly [name: string]: never } = Object.freeze({})

function newContext(options: RunOptions): RunContext {
  const settings = settingsOf(options)
  const tools = toolsByName(options.tools ?? [])
  return {
    model: options.model,
    fallbackModel: options.fallbackModel ?? null,
    models: modelsOf(options),
    namedModels: namedModelsOf(options.modelNamed),
    allModels: [...modelsOf(options), ...modelsOfAgents([...tools.values()])],
    tools,
    toolDefinitions: toolDefinitionsOf(tools.values(), options.model),
    moreTools: options.moreTools ?? null,
    toolAliases: options.toolAliases === undefined ? noAliases : new Map(Object.entries(options.toolAliases)),
    guards: registerGuards(guardsOf(options)),
    cancellation: options.cancellation ?? none,
    background: options.background ?? null,
    hooks: createHookRegistry(options.hooks),
    stopHooks: registerStopHooks(options.stopHooks ?? none),
    goals: runGoalsOf(options),
    verification: options.verification ?? null,
    postRun: options.postRun ?? none,
    permissions: options.permissions ?? allowAll,
    canUseTool: options.canUseTool ?? null,
    askLimit: options.askLimit ?? null,
    timers: steadyClock(options.clock ?? systemClock),
    prices: pricesOf(options),
    tokens: options.tokens === undefined ? roughTokens : checkedTokens(options.tokens),
    contextDefence: options.context ?? plainContext,
    largeResults: options.largeResults ?? null,
    mediaLimits: mediaLimitsWith(options.mediaLimits),
    settings,
    limits: { maxTurns: settings.maxTurns, goalTries: 0, tokenTargetLaps: tokenTargetBound(settings.tokenBudget) },
    runLoop,
  }
}

const noGoal = (): undefined => undefined

function runGoalsOf(options: RunOptions): RunGoals {
  const { until = none, goalNamed, goalFiles = null, skipIfMet = false, stopWhenMet = false } = options
  const named = goalNamed ?? noGoal
  return {
    given: until,
    named,
    files: goalFiles,
    skipIfMet,
    stopWhenMet,
    withoutWork: options.unmetWithoutWork ?? 'send_back',
  }
}

/** The session's line, below those of its lease and of the budget that it shares with others. */
export function sessionLedger({
  lease,
  budget,
  standing,
  maxBudgetUsd,
}: Pick<RunSettings, 'lease' | 'budget' | 'standing' | 'maxBudgetUsd'>): Ledger {
  const limits = { nanos: nanosOf(maxBudgetUsd) }
  const above = budget === null ? undefined : ledgerOfBudget(budget)
  const place = { isMeasured: standing !== null, above }
  return lease === null ? Ledger.create(limits, place) : Ledger.under(lease, limits, place)
}

/** Where the limits of a run are kept, and above it those of its session. */
export interface RunLedgers {
  readonly ledger: Ledger
  readonly sessionLedger: Ledger
}

/** The session's line, with what it has spent already, and under it the run's own. */
export function ledgersOf(settings: RunSettings, spentBeforeUsd = 0): RunLedgers {
  const session = sessionLedger(settings)
  session.restore({ nanos: nanosOf(spentBeforeUsd), tokens: 0 })
  const ledger = session.branch({ nanos: nanosOf(settings.maxRunUsd), tokens: settings.maxTotalTokens })
  return { ledger, sessionLedger: session }
}

/** The ledger of a run, below the line of its session, which has what that has spent already. */
export function ledgerOf(settings: RunSettings, spentBeforeUsd = 0): Ledger {
  return ledgersOf(settings, spentBeforeUsd).ledger
}
