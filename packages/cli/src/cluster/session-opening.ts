import type { JsonObject } from '@halting/core'
import { longestWaitForLimitsMs, maxGoalTriesAllowed } from '@halting/core/adapters'
import type { Flags } from '../flags/flags.ts'
import { limitFlags, limitsFromFlags } from '../flags/limit-flags.ts'
import { UsageError } from '../usage-error.ts'

/** Options of a new session. They can only narrow the limits of the worker. */
export interface SessionOpening {
  /** A folder below the one that the worker allows (`--folders`). */
  readonly folder?: string
  /** Set by the cluster if the session is a copy of another one. */
  readonly forkedFrom?: string
  readonly model?: string
  /** The tenant whose budget pays for it, among those that the worker allows (`--allowed-tenants`). */
  readonly tenant?: string
  readonly maxTurns?: number
  readonly maxBudgetUsd?: number
  readonly maxRunUsd?: number
  readonly maxToolCalls?: number
  readonly maxTokens?: number
  readonly maxDurationMs?: number
  readonly maxGoalTries?: number
  /** At a limit, end the run, or pause until somebody raises the limit. */
  readonly onLimit?: 'end' | 'pause'
  /** Maximum time to wait for an answer at a limit. */
  readonly pauseForMs?: number
  /** 0 disables waiting. */
  readonly waitForLimitsMs?: number
}

/** An opening uses the flag's name for this limit. */
const { maxTotalTokens: maxTokensFlag, ...sameNames } = limitFlags
const openingLimits = { ...sameNames, maxTokens: maxTokensFlag } as const

/** The options of a new session that the flags set. */
export function openingFromFlags(flags: Flags): SessionOpening {
  const { model, tenant, onLimit, pauseFor, waitForLimits } = flags
  const { maxTotalTokens, maxRunUsd, ...others } = limitsFromFlags(flags)
  return {
    ...others,
    // `Infinity` removes a default, and openings have no default.
    ...(maxRunUsd !== undefined && maxRunUsd !== Infinity && { maxRunUsd }),
    ...(maxTotalTokens !== undefined && { maxTokens: maxTotalTokens }),
    ...(model !== undefined && { model }),
    ...(tenant !== undefined && { tenant }),
    ...(onLimit !== undefined && { onLimit }),
    ...(pauseFor !== undefined && { pauseForMs: pauseFor }),
    ...(waitForLimits !== undefined && { waitForLimitsMs: waitForLimits }),
  }
}

/** @throws UsageError for invalid options. Unknown fields are ignored */
export function parseOpening(opening: JsonObject): SessionOpening {
  for (const name of ['folder', 'forkedFrom', 'model'] as const)
    if (opening[name] !== undefined && (typeof opening[name] !== 'string' || opening[name] === ''))
      throw new UsageError(`${name} in the session options must be a string.`)
  for (const name of Object.keys(openingLimits))
    if (opening[name] !== undefined && !(typeof opening[name] === 'number' && opening[name] > 0))
      throw new UsageError(`${name} in the session options must be a number above 0.`)
  const { maxGoalTries = 1, onLimit = 'end', pauseForMs = 1, waitForLimitsMs = 0 } = opening
  if (onLimit !== 'end' && onLimit !== 'pause')
    throw new UsageError('onLimit in the session options must be end or pause.')
  if (!(typeof pauseForMs === 'number' && pauseForMs > 0))
    throw new UsageError('pauseForMs in the session options must be a number above 0.')
  if (!(typeof waitForLimitsMs === 'number' && waitForLimitsMs >= 0 && waitForLimitsMs <= longestWaitForLimitsMs))
    throw new UsageError('waitForLimitsMs in the session options must be a number of milliseconds up to 31 days.')
  if (!Number.isInteger(maxGoalTries) || Number(maxGoalTries) > maxGoalTriesAllowed)
    throw new UsageError(`maxGoalTries in the session options must be a whole number up to ${maxGoalTriesAllowed}.`)
  // All known fields were validated above.
  return opening
}

/** The flags of the worker, narrowed by the options of this session. */
export function flagsWithOpening(flags: Flags, opening: SessionOpening): Flags {
  const narrowed = Object.entries(openingLimits).flatMap(([name, flag]) => {
    // This cast is safe: the keys of `openingLimits` are limits of an opening.
    const wanted = opening[name as keyof typeof openingLimits]
    return wanted === undefined ? [] : [[flag, Math.min(wanted, flags[flag] ?? Infinity)] as const]
  })
  const { model, onLimit, pauseForMs, waitForLimitsMs } = opening
  return {
    ...flags,
    ...(onLimit !== undefined && { onLimit }),
    ...(pauseForMs !== undefined && { pauseFor: pauseForMs }),
    ...Object.fromEntries(narrowed),
    ...(waitForLimitsMs !== undefined && {
      waitForLimits: Math.min(waitForLimitsMs, flags.waitForLimits ?? Infinity),
    }),
    // A scripted model is not replaced.
    ...(model !== undefined && flags.script === undefined && { model }),
  }
}
