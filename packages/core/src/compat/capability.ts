import type { CancellationSource } from '../hooks/cancellation-source.ts'
import { ConfigurationError } from '../values/errors.ts'
import { listOf } from '../values/validators.ts'
import type { Guard } from '../limits/guard.ts'
import { isGuard } from '../limits/guard.ts'
import {
  CostLimitHook,
  ExecutionTimeLimitHook,
  FinishReasonHook,
  StepsLimitHook,
  TokenUsageLimitHook,
} from '../limits/limit-guards.ts'
import type { Hook } from '../hooks/hook.ts'
import type { Model } from '../model/model.ts'
import type { ModelStopReason } from '../model/messages.ts'
import type { RunOptions } from '../api/options.ts'
import type { AnyTool } from '../tools/tool.ts'

/** The configuration that a builder has collected so far. */
export interface AgentConfiguration extends Partial<Omit<RunOptions, 'stopWhen'>> {
  /** Guards of the agent. */
  readonly guards: readonly Guard[]
}

/** An ability or a rule of an agent. It adds itself to a configuration. */
export interface Capability {
  /** The configuration with this capability added. */
  configure(configuration: AgentConfiguration): AgentConfiguration
}

/** Limits for `UseGuards`. Absent: the default (20 steps, 32,768 tokens, 300 s). `null`: no such limit. */
export interface GuardLimits {
  /** Maximum number of turns (default: 20). */
  readonly maxSteps?: number | null
  /** Input and output tokens of the run (default: 32,768). */
  readonly maxTokens?: number | null
  /** Seconds of active time (default: 300). */
  readonly maxExecutionTime?: number | null
  /** US dollars. Default: no limit. */
  readonly maxCostUsd?: number | null
  /** Stop reasons of the model that end the run. Default: none. */
  readonly finishReasons?: readonly ModelStopReason[]
}

const guardLimits: { readonly [name in keyof GuardLimits]-?: true } = {
  maxSteps: true,
  maxTokens: true,
  maxExecutionTime: true,
  maxCostUsd: true,
  finishReasons: true,
}

// Spec R-GUARD-7.
/** The guards for limits. Without arguments: 20 steps, 32,768 tokens, 300 s. `null` disables a limit. */
export class UseGuards implements Capability {
  /** The guards that it adds. */
  readonly guards: readonly Guard[]

  /** @throws ConfigurationError for an invalid or unknown limit. */
  constructor(limits: GuardLimits = {}) {
    const unknown = Object.keys(limits).find((name) => !Object.hasOwn(guardLimits, name))
    if (unknown !== undefined)
      throw new ConfigurationError(`Unknown limit ${unknown}. Known limits: ${listOf(Object.keys(guardLimits))}.`)
    const { maxSteps = 20, maxTokens = 32_768, maxExecutionTime = 300, maxCostUsd = null, finishReasons = [] } = limits
    this.guards = [
      ...(maxSteps === null ? [] : [new StepsLimitHook(maxSteps)]),
      ...(maxTokens === null ? [] : [new TokenUsageLimitHook(maxTokens)]),
      ...(maxExecutionTime === null ? [] : [new ExecutionTimeLimitHook(maxExecutionTime)]),
      ...(maxCostUsd === null ? [] : [new CostLimitHook(maxCostUsd)]),
      ...(finishReasons.length === 0 ? [] : [new FinishReasonHook(finishReasons)]),
    ]
  }

  /** Adds the guards. */
  configure(configuration: AgentConfiguration): AgentConfiguration {
    return { ...configuration, guards: [...configuration.guards, ...this.guards] }
  }
}

/** Adds tools to the agent. Duplicate names are a ConfigurationError when it is built. */
export class UseTools implements Capability {
  readonly #tools: readonly AnyTool[]

  constructor(...tools: readonly AnyTool[]) {
    this.#tools = tools
  }

  /** Adds the tools. */
  configure(configuration: AgentConfiguration): AgentConfiguration {
    return { ...configuration, tools: [...(configuration.tools ?? []), ...this.#tools] }
  }
}

/** Registers a hook or a guard, for example `new UseHook(new StepsLimitHook(10))`. */
export class UseHook implements Capability {
  readonly #hook: Hook | Guard

  constructor(hook: Hook | Guard) {
    this.#hook = hook
  }

  /** Adds the hook or the guard. */
  configure(configuration: AgentConfiguration): AgentConfiguration {
    const hook = this.#hook
    if (isGuard(hook)) return { ...configuration, guards: [...configuration.guards, hook] }
    return { ...configuration, hooks: [...(configuration.hooks ?? []), hook] }
  }
}

/** Lets external code request the run to stop at its next cancellation point. */
export class UseCooperativeCancellation implements Capability {
  readonly #source: CancellationSource

  constructor(source: CancellationSource) {
    this.#source = source
  }

  /** Adds the cancellation source. */
  configure(configuration: AgentConfiguration): AgentConfiguration {
    return { ...configuration, cancellation: [...(configuration.cancellation ?? []), this.#source] }
  }
}

/** The model that the agent uses. */
export class UseModel implements Capability {
  readonly #model: Model

  constructor(model: Model) {
    this.#model = model
  }

  /** Sets the model. */
  configure(configuration: AgentConfiguration): AgentConfiguration {
    return { ...configuration, model: this.#model }
  }
}
