import type { ErrorPolicyName, SessionChoices } from './choices.ts'
import { ConfigurationError, type ErrorPolicy, type RunOptions, noProgress } from '@halting/core'
import { FinishReasonHook } from '@halting/core/compat'

type Limits = Pick<
  RunOptions,
  | 'maxToolCalls'
  | 'maxTotalTokens'
  | 'maxDurationMs'
  | 'tokenBudget'
  | 'wrapUp'
  | 'errorPolicy'
  | 'stopWhen'
  | 'maxRetries'
  | 'maxSubagents'
  | 'maxSubagentDepth'
  | 'toolConcurrency'
  | 'stopHookBlockCap'
  | 'maxGoalTries'
  | 'limitReminders'
  | 'waitForLimitsMs'
>

const errorPolicies: { readonly [name in ErrorPolicyName]: ErrorPolicy | undefined } = {
  continue: undefined,
  tools: ({ source }) => source === 'tool',
  hooks: ({ source }) => source === 'hook',
  all: () => true,
}

type Counted = Pick<RunOptions, 'maxToolCalls' | 'maxTotalTokens' | 'maxDurationMs' | 'waitForLimitsMs'>

/** Limits that need no prices. */
export function countedLimits({ maxToolCalls, maxTokens, maxDuration, waitForLimits }: SessionChoices): Counted {
  return withoutUndefined<Counted>({
    maxToolCalls,
    maxTotalTokens: maxTokens,
    maxDurationMs: maxDuration,
    waitForLimitsMs: waitForLimits,
  })
}

/**
 * Returns the stop conditions: the chosen limits, and always the guard against loops. `RunLimit` handles turns and
 * dollars of a run.
 */
export function limitsOf(choices: SessionChoices, env: Readonly<Record<string, string | undefined>>): Limits {
  const { finishReasons = [], errorPolicy } = choices
  const stopOnFinish = finishReasons.length === 0 ? [] : [new FinishReasonHook(finishReasons)]
  return withoutUndefined<Limits>({
    ...countedLimits(choices),
    tokenBudget: choices.tokenBudget,
    maxGoalTries: choices.untilTries,
    wrapUp: choices.wrapUp,
    errorPolicy: errorPolicies[errorPolicy ?? 'continue'],
    stopWhen: [noProgress(), ...stopOnFinish],
    maxSubagents: choices.maxSubagents,
    maxSubagentDepth: choices.maxSubagentDepth,
    maxRetries: countFrom(env, 'CLAUDE_CODE_MAX_RETRIES', 0),
    toolConcurrency: countFrom(env, 'CLAUDE_CODE_MAX_TOOL_USE_CONCURRENCY', 1),
    stopHookBlockCap: countFrom(env, 'CLAUDE_CODE_STOP_HOOK_BLOCK_CAP', 0),
  })
}

/** @throws ConfigurationError for an invalid number. */
export function countFrom(
  env: Readonly<Record<string, string | undefined>>,
  name: string,
  least: number,
): number | undefined {
  const rawValue = env[name]?.trim() ?? ''
  if (rawValue === '') return undefined
  if (/^\d+$/.test(rawValue) && Number(rawValue) >= least) return Number(rawValue)
  throw new ConfigurationError(`${name} must be a whole number of at least ${least}, not "${rawValue}".`)
}

/** The type with fields that may be undefined. */
export type Optional<Value> = { readonly [Key in keyof Value]: Value[Key] | undefined }

/** Removes undefined fields from a value whose fields are all optional. */
export function withoutUndefined<Value extends object>(value: Optional<Value>): Value {
  // Type assertion: every field of `Value` is optional, so it may be omitted.
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined)) as Value
}
