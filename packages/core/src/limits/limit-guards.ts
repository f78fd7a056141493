import { throwInvalidOption } from '../values/validators.ts'
import type { ModelStopReason } from '../model/messages.ts'
import { StopSignal } from '../endings/signal.ts'
import {
  conditionFigures,
  figures,
  type CancellationPoint,
  type Guard,
  type GuardBounds,
  type GuardRemaining,
  type GuardView,
} from './guard.ts'
import {
  dollarLimit,
  finishReasonReceived,
  toolWasCalled,
  stepLimitReached,
  timeLimitReached,
  tokenLimitReached,
} from '../endings/ending-texts.ts'

// Guards that enforce a limit (spec R-GUARD-2 to R-GUARD-5). Each is a class with a factory function. `UseGuards` registers them together.

/** Stops when `maxSteps` turns are completed. */
export class StepsLimitHook implements Guard {
  readonly name = 'StepsLimitHook'
  /** The limit on turns. */
  readonly bounds: GuardBounds
  readonly #maxSteps: number

  constructor(maxSteps: number) {
    this.#maxSteps = positive('maxSteps', maxSteps)
    this.bounds = { turns: maxSteps }
  }

  /** A signal `steps_limit` once the turns are used up. */
  evaluate(view: GuardView): StopSignal | undefined {
    const maxSteps = this.#maxSteps
    if (view.steps < maxSteps) return undefined
    return new StopSignal({
      reason: 'steps_limit',
      message: stepLimitReached(view.steps, maxSteps),
      context: { currentSteps: view.steps, maxSteps, used: view.steps, limit: maxSteps },
      source: this.name,
    })
  }

  remaining({ steps }: GuardView): GuardRemaining | undefined {
    return figures(this.name, steps, this.#maxSteps, 'turns')
  }
}

/** Stops when `steps` turns are completed: `StepsLimitHook`. @throws ConfigurationError unless `steps` is above 0. */
export function stepLimit(steps: number): StepsLimitHook {
  return new StepsLimitHook(steps)
}

// Spec R-SUB-4.
/** Whether a guard also applies to a subagent. A step limit does not apply, since a subagent counts its own turns. */
export function appliesToAgents(guard: Guard): boolean {
  return !(guard instanceof StepsLimitHook)
}

/** Stops when the run has used `maxTokens`: input (including cached) plus output. The ledger also reserves against this limit. */
export class TokenUsageLimitHook implements Guard {
  readonly name = 'TokenUsageLimitHook'
  /** The limit on tokens. */
  readonly bounds: GuardBounds
  readonly #maxTokens: number

  constructor(maxTokens: number) {
    this.#maxTokens = positive('maxTokens', maxTokens)
    this.bounds = { tokens: maxTokens }
  }

  /** A signal `token_limit` once the tokens are used up. */
  evaluate(view: GuardView): StopSignal | undefined {
    const maxTokens = this.#maxTokens
    if (view.totalTokens < maxTokens) return undefined
    return new StopSignal({
      reason: 'token_limit',
      message: tokenLimitReached(view.totalTokens, maxTokens),
      context: { totalTokens: view.totalTokens, maxTokens, used: view.totalTokens, limit: maxTokens },
      source: this.name,
    })
  }

  remaining({ totalTokens }: GuardView): GuardRemaining | undefined {
    return figures(this.name, totalTokens, this.#maxTokens, 'tokens')
  }
}

/** Stops when the run has used `tokens`, input (including cached) plus output: `TokenUsageLimitHook`. @throws ConfigurationError unless above 0. */
export function tokenLimit(tokens: number): TokenUsageLimitHook {
  return new TokenUsageLimitHook(tokens)
}

/** Stops after `maxSeconds` of active time. A call in progress is aborted. */
export class ExecutionTimeLimitHook implements Guard {
  readonly name = 'ExecutionTimeLimitHook'
  /** The limit on active time. */
  readonly bounds: GuardBounds
  readonly #maxMs: number

  constructor(maxSeconds: number) {
    // Rounded, so that 1.001 s is exactly 1,001 ms.
    this.#maxMs = Math.round(positive('maxSeconds', maxSeconds) * 1_000_000) / 1_000
    this.bounds = { ms: this.#maxMs }
  }

  /** A signal `time_limit` once the time is used up. */
  evaluate(view: GuardView): StopSignal | undefined {
    if (view.activeMs < this.#maxMs) return undefined
    return timeLimitSignal(view.activeMs, this.#maxMs, this.name)
  }

  remaining({ activeMs }: GuardView): GuardRemaining | undefined {
    return figures(this.name, activeMs, this.#maxMs, 'ms')
  }
}

/** Stops after `ms` milliseconds of active time. A call in progress is aborted: `ExecutionTimeLimitHook`. @throws ConfigurationError unless above 0. */
export function timeLimit(ms: number): ExecutionTimeLimitHook {
  return new ExecutionTimeLimitHook(positive('ms', ms) / 1000)
}

export function timeLimitSignal(usedMs: number, limitMs: number, source: string): StopSignal {
  return new StopSignal({
    reason: 'time_limit',
    message: timeLimitReached(seconds(usedMs), seconds(limitMs)),
    context: { usedMs, limitMs, used: usedMs, limit: limitMs },
    source,
  })
}

/** Stops when the run has cost `maxUsd`. The ledger also reserves against this limit, so the run does not exceed it. */
export class CostLimitHook implements Guard {
  readonly name = 'CostLimitHook'
  /** The limit in US dollars. */
  readonly bounds: GuardBounds
  readonly #maxUsd: number

  constructor(maxUsd: number) {
    this.#maxUsd = positive('maxUsd', maxUsd)
    this.bounds = { usd: maxUsd }
  }

  /** A signal `cost_limit` once the money is used up. */
  evaluate(view: GuardView): StopSignal | undefined {
    if (view.costUsd < this.#maxUsd) return undefined
    return costLimitSignal(view.costUsd, this.#maxUsd, this.name)
  }

  remaining({ costUsd }: GuardView): GuardRemaining | undefined {
    return figures(this.name, costUsd, this.#maxUsd, 'usd')
  }
}

/** Stops when the run has cost `usd` US dollars: `CostLimitHook`. @throws ConfigurationError unless `usd` is above 0. */
export function costLimit(usd: number): CostLimitHook {
  return new CostLimitHook(usd)
}

export function costLimitSignal(usedUsd: number, limitUsd: number, source: string): StopSignal {
  return new StopSignal({
    reason: 'cost_limit',
    message: dollarLimit(limitUsd),
    context: { usedUsd, limitUsd, used: usedUsd, limit: limitUsd },
    source,
  })
}

/** Stops when a reply ends with one of these stop reasons (`end_turn`, `stop_sequence` …). */
export class FinishReasonHook implements Guard {
  readonly name = 'FinishReasonHook'
  readonly checkpoints: readonly CancellationPoint[] = ['after_reply', 'after_tools']
  readonly #reasons: ReadonlySet<ModelStopReason>

  constructor(reasons: readonly ModelStopReason[]) {
    for (const reason of reasons)
      if (typeof reason !== 'string') throwInvalidOption('A finish reason', 'a text', reason)
    this.#reasons = new Set(reasons)
  }

  /** A signal `finish_reason` when the last reply ended with one of the reasons. */
  evaluate(view: GuardView): StopSignal | undefined {
    if (view.finishReason === null || !this.#reasons.has(view.finishReason)) return undefined
    return new StopSignal({
      reason: 'finish_reason',
      message: finishReasonReceived(view.finishReason),
      context: { finishReason: view.finishReason },
      source: this.name,
    })
  }

  remaining(view: GuardView): GuardRemaining {
    return conditionFigures(this.name, this.evaluate(view) !== undefined)
  }
}

/** Stops when a reply ends with one of these stop reasons (`end_turn`, `stop_sequence` …): `FinishReasonHook`. */
export function finishReason(...reasons: readonly ModelStopReason[]): FinishReasonHook {
  return new FinishReasonHook(reasons)
}

/** Stops when a call of one of these tools ran without an error. */
export class ToolCallHook implements Guard {
  readonly name = 'ToolCallHook'
  readonly checkpoints: readonly CancellationPoint[] = ['after_tools']
  readonly #tools: ReadonlySet<string>

  constructor(tools: readonly string[]) {
    if (tools.length === 0)
      throwInvalidOption('hasToolCall', "given the name of a tool: hasToolCall('submit')", undefined)
    for (const tool of tools)
      if (typeof tool !== 'string' || tool === '') throwInvalidOption('The name of a tool', 'a text', tool)
    this.#tools = new Set(tools)
  }

  /** A signal `finish_reason` when the last turn called one of the tools successfully. */
  evaluate({ lastCalls }: GuardView): StopSignal | undefined {
    const call = lastCalls.find(({ name, status }) => status === 'ok' && this.#tools.has(name))
    if (call === undefined) return undefined
    return new StopSignal({
      reason: 'finish_reason',
      message: toolWasCalled(call.name),
      context: { tool: call.name, callId: call.id },
      source: this.name,
    })
  }

  remaining(view: GuardView): GuardRemaining {
    return conditionFigures(this.name, this.evaluate(view) !== undefined)
  }
}

/**
 * Stops once a call of one of these tools succeeds: `stopWhen: hasToolCall('submit')` ends the run as `finish_reason`, a
 * success. All calls of the turn are completed first. A call that failed or was denied does not count, so the model can
 * correct it.
 * @throws ConfigurationError without names, and for an invalid name.
 */
export function hasToolCall(...tools: readonly string[]): ToolCallHook {
  return new ToolCallHook(tools)
}

function positive(name: string, value: number): number {
  if (typeof value === 'number' && value > 0) return value
  return throwInvalidOption(name, 'above 0', value, 'Leave it out for no limit.')
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(ms < 10_000 ? 1 : 0)
}
