import { isBackground, type Background } from '../verification/background.ts'
import { tokenTargetBound } from '../limits/token-target.ts'
import { isBudgetLease, type BudgetLease } from '../limits/lease.ts'
import { isSharedBudget, ledgerOfBudget, type SharedRunBudget } from '../limits/run-budget.ts'
import { isStandingBudgets, type StandingBudgets } from '../limits/standing-budgets.ts'
import { Ledger } from '../limits/ledger.ts'
import { nanosOf, type Prices } from '../model/prices.ts'
import type { CancellationSource } from '../hooks/cancellation-source.ts'
import { plainContext, type ContextManager } from '../context/context-manager.ts'
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
  type Validator,
} from '../values/validators.ts'
import { isGuards } from '../limits/check-guards.ts'
import { isHook } from '../hooks/check-hook.ts'
import type { Goal, GoalFiles } from '../goals/goal.ts'
import type { GoalSpec } from '../verification/goal-record.ts'
import { isGoalFiles, isGoals, defaultGoalTries, type RunGoals } from '../goals/run-goals.ts'
import { any } from '../limits/combinators.ts'
import { type Guard, registerGuards } from '../limits/guard.ts'
import { isVerification, type Verification } from '../verification/verification.ts'
import { guardsOfPolicy, type NoProgressPolicy } from '../limits/no-progress.ts'
import type { HookFigures } from '../hooks/hook-figures.ts'
import { type Hook, createHookRegistry } from '../hooks/hook.ts'
import { registerStopHooks, type PostRunTask, type StopHook } from '../hooks/stop-hooks.ts'
import { runLoop } from '../loop/loop.ts'
import type { AskLimit } from '../state/limit-request.ts'
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
import type { StepEngine } from '../steps/step-engine.ts'
import { systemClock } from '../values/system-clock.ts'
import type { RunResult } from '../endings/run-result.ts'
import { isToolAliases, type ToolAliases, toolDefinitionsOf, toolsByName } from '../tools/definitions.ts'
import { checkToolNames, isAnyTool } from '../tools/check-tool.ts'
import type { CanUseTool } from '../run/can-use-tool.ts'
import { allowAll, type Permissions } from '../tools/permissions.ts'
import { isLargeResults, type LargeResults } from '../tools/large-results.ts'
import { modelsOfAgents, type AnyTool } from '../tools/tool.ts'

/** All options of a run. Only the model is required. */
export interface RunOptions {
  /** The model that the run uses. */
  readonly model: Model
  /** The model to use when the first one is overloaded three times in a row, or earlier if `maxRetries` allows fewer attempts. */
  readonly fallbackModel?: Model
  /** Further models that may be selected by their id during a run (`RunStream.set`). */
  readonly models?: readonly Model[]
  /**
   * Creates a model by name, for `RunStream.set({ model })` with a name that is not the id of another model. Returns
   * undefined for an unknown name. Errors that it throws are passed to the caller of `set`. It is called once for each
   * name.
   */
  readonly modelNamed?: (name: string) => Model | undefined
  /** How much the model may think. Default: the model's own setting. */
  readonly thinking?: Thinking
  /**
   * Randomness of the answers: 0 for the most likely one, at most 2. If the service does not support it, the request
   * omits it, and one notice reports that.
   */
  readonly temperature?: number
  /** Considers only the most likely tokens, up to this share of the probability (above 0, at most 1). Omitted if unsupported, as for `temperature`. */
  readonly topP?: number
  /** Texts that end a reply: it stops before the first of them. Does not apply to subagents. Omitted if unsupported, as for `temperature`. */
  readonly stopSequences?: readonly string[]
  /** A seed that makes equal requests likely to get the same answer. An integer. Omitted if unsupported, as for `temperature`. */
  readonly seed?: number
  /**
   * Whether the model must call a tool: `auto` (the default), `none`, `required`, or `{ tool: 'name' }`. It applies only
   * until the run has called a tool, so that the model can then answer. Does not apply to subagents.
   */
  readonly toolChoice?: ToolChoice
  /** Maximum tokens of one reply, if lower than the model's limit. A truncated reply is continued, as at the limit of the model. */
  readonly maxOutputTokens?: number
  /** The system prompt. Default: none. */
  readonly system?: string
  /** Tools that the model may call, each name once. Default: none. */
  readonly tools?: readonly AnyTool[]
  /**
   * Returns further tools by name, which `RunStream.set({ tools })` adds during a run, for example tools of a slow
   * server, or tools that a search has found. If it returns undefined, the tool is omitted.
   */
  readonly moreTools?: (name: string) => AnyTool | undefined
  // Spec R-TOOL-20.
  /**
   * Maps alternative tool names to tools: `{ Bash: 'mcp__workspace__bash' }`. Rules and hooks see the name of the tool
   * that runs; the transcript contains the name that the model wrote.
   */
  readonly toolAliases?: ToolAliases

  /** Maximum number of turns (default: 1,000). With `Infinity` the run is no longer guaranteed to halt. */
  readonly maxTurns?: number
  /**
   * Dollar limit of the session. Never exceeded: each request reserves its worst-case cost. Needs a price for the model:
   * its own (`Model.prices`), or one of `prices`.
   */
  readonly maxBudgetUsd?: number
  /** Dollar limit of this run alone. Spending of earlier runs of the session does not count against it. */
  readonly maxRunUsd?: number
  /** A share of a budget that other sessions use too. Applies in addition to `maxBudgetUsd`. */
  readonly lease?: BudgetLease
  /** A budget that concurrent runs of this process share (`sharedBudget`). Applies in addition to the other limits. */
  readonly budget?: SharedRunBudget
  // Spec R-STAND-1.
  /** Budgets that outlast runs and processes, such as a daily dollar budget. Each request reserves from them before it is made. */
  readonly standing?: StandingBudgets
  /** Maximum tokens of the whole run: input, including cached input, plus output, including subagents. Each request reserves its worst case. */
  readonly maxTotalTokens?: number
  // Spec R-SERV-1.
  /**
   * Maximum wall-clock milliseconds to wait for services that are rate-limited or unavailable, including waits before a
   * resume (default: 0, at most 31 days). Waiting does not count as active time, and nothing is billed.
   */
  readonly waitForLimitsMs?: number
  /** Maximum active milliseconds. A call in progress is aborted at the limit. */
  readonly maxDurationMs?: number
  // Spec R-CALLS-1.
  /** Maximum number of tool calls, including those of subagents. If a reply requests more, the run ends after the permitted calls. */
  readonly maxToolCalls?: number
  // Spec R-TELL-1.
  /** Reminds the model of what is left of its limits, once each at 50, 80 and 95 % of a limit (default: false). */
  readonly limitReminders?: boolean
  // Spec R-GATE-2.
  /** Target number of output tokens: an answer below 90 % of it makes the model continue, while continuing gains enough tokens. */
  readonly tokenBudget?: number | null
  /** Guards that stop the run; several are combined with `any`. */
  readonly stopWhen?: Guard | readonly Guard[]
  /**
   * The reaction when the run repeats itself. `remind` reminds the model. `stop` reminds it after 3 equal rounds and
   * ends the run as `no_progress` after 5. `off` does nothing. Default: `remind` for `run`, `query` and `QueryEngine`,
   * `off` for `streamRun`. A guard of `stopWhen` that detects repetition, such as `noProgress()`, replaces it.
   */
  readonly noProgress?: NoProgressPolicy
  /** Whether to request a last answer, without tools, when a limit is reached. */
  readonly wrapUp?: boolean

  /**
   * The schema for the answer. An answer that violates it is returned to the model with the problem, up to 5 times.
   * `outputSchema(z.object({ … }))` creates one.
   */
  readonly output?: OutputSchema
  /** Decides which failures of tools and hooks end the run as `error`. By default none does, and failures are reported to the model. */
  readonly errorPolicy?: ErrorPolicy
  /** Decides about calls before they run. Default: `allowAll`. */
  readonly permissions?: Permissions
  /** Asks a person about calls that rules and hooks do not decide, and waits for the answer, regardless of `onAsk`. */
  readonly canUseTool?: CanUseTool
  /** How long to wait for an answer of `canUseTool`, in milliseconds (default: no timeout, as a person may take long). */
  readonly canUseToolTimeoutMs?: number
  /** What happens at a call that a person must approve: the run ends as `needs_approval` (`end`, the default), or waits for the answer. */
  readonly onAsk?: 'end' | 'wait'
  // Spec R-PAUSE-1.
  /**
   * What happens at a limit that a person may raise. `end`, the default, ends the run. `pause` asks through `askLimit`
   * or the event `limit_question`. If the limit is raised, the run continues; without an answer it ends at the limit.
   */
  readonly onLimit?: 'end' | 'pause'
  /** How long to wait for an answer at a limit, in wall-clock milliseconds, including waits before a resume (default: no timeout). */
  readonly pauseForMs?: number
  /** Asks a person at a limit if `onLimit` is `pause`. Without it, answer through `RunStream.answerLimit`. */
  readonly askLimit?: AskLimit
  /** The highest values that limits may be raised to at a pause, for example from an administrator's settings. Omitted limits have no ceiling. */
  readonly limitCeilings?: LimitsChange
  /** Called at certain points of the run; they can change what happens next. Default: none. */
  readonly hooks?: readonly Hook[]
  /** Called when the model has answered; they can make it continue. Default: none. */
  readonly stopHooks?: readonly StopHook[]
  // Spec R-GOAL-1.
  /**
   * Conditions that must be met before the run may end as `completed`. Programs that the model does not control check
   * them. `commandGoal` of `@halting/agent` creates one from a command.
   */
  readonly until?: readonly Goal[]
  /** How often the model is made to continue because a goal is not met: 1 to 1,000 (default: 10). */
  readonly maxGoalTries?: number
  /** Ends without a request if the goals are already met at the start. */
  readonly skipIfMet?: boolean
  /** Checks the goals after each turn that changed something, and ends as soon as they are met. */
  readonly stopWhenMet?: boolean
  /** Monitors the files that the checks depend on: protected files, and files that a check changes (`goalFiles` of `@halting/agent`). */
  readonly goalFiles?: GoalFiles
  /** Creates a goal from its recorded specification, for a continued run and for `RunStream.set({ until })`. */
  readonly goalNamed?: (spec: GoalSpec) => Goal | undefined
  /**
   * What happens to an answer that misses the goals when no tool was called since the last message or try. `send_back`
   * returns it to the model. `end` ends the run, and a person decides.
   */
  readonly unmetWithoutWork?: 'send_back' | 'end'
  // Spec R-VERI-2.
  /**
   * What happens with changes that no check followed. `ask` asks the model once to check them; `tell` only reports them
   * in `RunResult.verified`. Default: changes are not tracked.
   */
  readonly verification?: Verification
  /** Work that begins when the run has completed, and does not delay its result. Default: none. */
  readonly postRun?: readonly PostRunTask[]
  /** Asked at every cancellation point whether the run must stop. Default: none. */
  readonly cancellation?: readonly CancellationSource[]
  // Spec R-BACK-1.
  /** Background work that tools start, such as `backgroundOf` of `@halting/agent`. */
  readonly background?: Background

  /** Prices of models. They take precedence over the models' own prices. */
  readonly prices?: Prices
  /** Estimates the number of tokens of messages. Default: a rough estimate by their length. */
  readonly tokens?: Tokens
  /** Keeps the conversation within the model's context window (default: `plainContext`). `contextLayers()` enables all layers. */
  readonly context?: ContextManager
  /** Size of the context window in input tokens. Replaces the size that the model defines. A smaller size in a refusal of the service still applies. */
  readonly contextWindow?: number
  // Spec R-TOOL-18.
  /** Stores results that are too large for the conversation. Without it, every result is included in full. */
  readonly largeResults?: LargeResults
  // Spec R-MEDIA-1.
  /** Limits of the service for images and documents, if they differ from those of the Messages API. */
  readonly mediaLimits?: Partial<MediaLimits>
  /** The step engine. Without one nothing is recorded; `createMemorySteps()` records what a resume or a replay needs. */
  readonly steps?: StepEngine
  /** The source of time. Default: the system's clock. */
  readonly clock?: Clock
  /** Aborts the run. `controller.abort('interrupt')` reports that a new message is the reason. */
  readonly signal?: AbortSignal
  /** Called once, with the run result and the figures of the run, even when no reader is left. */
  readonly onResult?: (terminal: RunResult, figures: HookFigures) => void

  /** Minimum output tokens for a request to be made (default: 1,024). */
  readonly minUsefulTokens?: number
  /** Network retries of one request (default: 10). */
  readonly maxRetries?: number
  /** Milliseconds that a side effect has to respond to an abort (default: 250). */
  readonly graceMs?: number
  /** Maximum number of concurrent read-only calls (default: 10). */
  readonly toolConcurrency?: number
  /** Maximum number of subagents of a run, on all levels together (default: 50). */
  readonly maxSubagents?: number
  /** Maximum depth of subagents (default: 3). With 1, subagents cannot start subagents. */
  readonly maxSubagentDepth?: number
  /** Maximum number of consecutive times that a stop hook may block, at most 8 (default: 8). */
  readonly stopHookBlockCap?: number
  /**
   * What the session has spent before, in US dollars, excluding the spending in `carry`. It counts against
   * `maxBudgetUsd`. A `QueryEngine` adds its own runs.
   */
  readonly spentBeforeUsd?: number
  /** Named parts of user input, which stop hooks and `contextUsage` receive. The loop does not add them to requests. Default: none. */
  readonly userContext?: { readonly [key: string]: string }
  /** Named parts of the system prompt, which stop hooks and `contextUsage` receive. The loop does not add them to requests. Default: none. */
  readonly systemContext?: { readonly [key: string]: string }
}

/**
 * The validator of each option. An option without a validator does not compile. For a limit, only the type is checked
 * here; `checkLimits` checks the value.
 */
const loopChecks: { readonly [option in keyof RunOptions]-?: Validator } = {
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

/** The default for `maxTurns`. */
export const defaultMaxTurns = 1_000

/** The options with every default filled in. @throws ConfigurationError for options that cannot be run. */
export function settingsOf(options: RunOptions): RunSettings {
  checkOptions(options, optionChecks)
  const guard = guardBounds(options)
  const settings: RunSettings = {
    system: systemWithOutput(options.system, options.output),
    contextWindow: options.contextWindow ?? null,
    maxTurns: options.maxTurns ?? defaultMaxTurns,
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
    maxGoalTries: options.maxGoalTries ?? defaultGoalTries,
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
  const guards = stopWhen === undefined ? [] : 'evaluate' in stopWhen ? [stopWhen] : stopWhen
  return [...guards, ...guardsOfPolicy(noProgress, guards)]
}

function guardBounds(options: RunOptions): NonNullable<Guard['bounds']> {
  return any(...guardsOf(options)).bounds ?? {}
}

const counts = ['maxRetries', 'maxSubagents', 'maxSubagentDepth', 'stopHookBlockCap'] as const

function validate(settings: RunSettings, options: RunOptions): void {
  // A guard validates its own bound, so only the option is checked here.
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
  const usedModels = [
    options.model,
    ...(fallbackModel === undefined ? [] : [fallbackModel]),
    ...(context?.models ?? []),
  ]
  for (const model of usedModels) checkBudgetable(model, prices, settings)
}

/** The models of the options, without duplicates. */
function modelsOf({ model, fallbackModel, models = [] }: RunOptions): readonly Model[] {
  return [...new Set([model, ...(fallbackModel === undefined ? [] : [fallbackModel]), ...models])]
}

/** Selected models are recorded by id, so ids must be unique. */
function checkModels({ models = [], ...options }: RunOptions): void {
  if (models.length === 0) return
  const ids = modelsOf({ models, ...options }).map(({ id }) => id)
  const twice = ids.find((id, index) => ids.indexOf(id) !== index)
  if (twice !== undefined) throw new ConfigurationError(`Two models have the id ${twice}. Ids must be unique.`)
}

/** The context that all runs with these options share. It is created once for each `RunOptions` object. */
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
    limits: {
      maxTurns: settings.maxTurns,
      goalTries: 0,
      tokenTargetIterations: tokenTargetBound(settings.tokenBudget),
    },
    runLoop,
  }
}

const noGoal = (): undefined => undefined

function runGoalsOf(options: RunOptions): RunGoals {
  const { until = none, goalNamed, goalFiles = null, skipIfMet = false, stopWhenMet = false } = options
  const named = goalNamed ?? noGoal
  return {
    configured: until,
    named,
    files: goalFiles,
    skipIfMet,
    stopWhenMet,
    withoutWork: options.unmetWithoutWork ?? 'send_back',
  }
}

/** The ledger of a session, as a child of its lease or of its shared budget. */
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

/** The ledgers that enforce the limits of a run and of its session. */
export interface RunLedgers {
  readonly ledger: Ledger
  readonly sessionLedger: Ledger
}

/** The session's ledger with what it has already spent, and the run's ledger as its child. */
export function ledgersOf(settings: RunSettings, spentBeforeUsd = 0): RunLedgers {
  const session = sessionLedger(settings)
  session.restore({ nanos: nanosOf(spentBeforeUsd), tokens: 0 })
  const ledger = session.branch({ nanos: nanosOf(settings.maxRunUsd), tokens: settings.maxTotalTokens })
  return { ledger, sessionLedger: session }
}

/** The ledger of a run, as a child of its session's ledger, which includes earlier spending. */
export function ledgerOf(settings: RunSettings, spentBeforeUsd = 0): Ledger {
  return ledgersOf(settings, spentBeforeUsd).ledger
}
