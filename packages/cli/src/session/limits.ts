import { type ErrorPolicy, FinishReasonHook, type LoopOptions, noProgress } from '@halting/core'
import type { ErrorPolicyName, Flags } from '../flags/flags.ts'
import { UsageError } from '../usage-error.ts'

type Limits = Pick<
  LoopOptions,
  | 'maxTurns'
  | 'maxBudgetUsd'
  | 'maxTokens'
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
>

const errorPolicies: { readonly [name in ErrorPolicyName]: ErrorPolicy | undefined } = {
  continue: undefined,
  tools: ({ source }) => source === 'tool',
  hooks: ({ source }) => source === 'hook',
  all: () => true,
}

/** When to stop: what the flags say, and the guard against going in circles in any case. */
export function limitsOf(flags: Flags, env: Readonly<Record<string, string | undefined>>): Limits {
  const { finishReasons = [], maxDuration, errorPolicy } = flags
  const stopOnFinish = finishReasons.length === 0 ? [] : [new FinishReasonHook(finishReasons)]
  return withoutUndefined<Limits>({
    maxTurns: flags.maxTurns,
    maxBudgetUsd: flags.maxBudgetUsd,
    maxTokens: flags.maxTokens,
    maxDurationMs: maxDuration,
    tokenBudget: flags.tokenBudget,
    wrapUp: flags.wrapUp,
    errorPolicy: errorPolicies[errorPolicy ?? 'continue'],
    stopWhen: [noProgress(), ...stopOnFinish],
    maxSubagents: flags.maxSubagents,
    maxSubagentDepth: flags.maxSubagentDepth,
    maxRetries: countFrom(env, 'CLAUDE_CODE_MAX_RETRIES', 0),
    toolConcurrency: countFrom(env, 'CLAUDE_CODE_MAX_TOOL_USE_CONCURRENCY', 1),
    stopHookBlockCap: countFrom(env, 'CLAUDE_CODE_STOP_HOOK_BLOCK_CAP', 0),
  })
}

/** @throws UsageError for what is no such number. */
export function countFrom(
  env: Readonly<Record<string, string | undefined>>,
  name: string,
  least: number,
): number | undefined {
  const given = env[name]?.trim() ?? ''
  if (given === '') return undefined
  if (/^\d+$/.test(given) && Number(given) >= least) return Number(given)
  throw new UsageError(`${name} must be a whole number of at least ${least}; it is "${given}".`)
}

type Optional<Value> = { readonly [Key in keyof Value]: Value[Key] | undefined }

function withoutUndefined<Value extends object>(value: Optional<Value>): Value {
  // True: what is left out is what `Value` does not ask for, since every field of it is optional.
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined)) as Value
}
