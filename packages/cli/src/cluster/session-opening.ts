import type { JsonObject } from '@halting/core'
import { longestWaitForLimitsMs, mostGoalTries } from '@halting/core/adapters'
import type { Flags } from '../flags/flags.ts'
import { limitFlags, limitsIn } from '../flags/limit-flags.ts'
import { UsageError } from '../usage-error.ts'

/** What whoever begins a session may say of it, beside what workers say for all. Limits only make those of the worker narrower. */
export interface SessionOpening {
  /** A folder below the one that the worker allows (`--folders`). */
  readonly folder?: string
  /** Written by the cluster where it is a copy of another session. */
  readonly forkedFrom?: string
  readonly model?: string
  /** Whose budget it spends from, of those that the worker allows (`--allowed-tenants`). */
  readonly tenant?: string
  readonly maxTurns?: number
  readonly maxBudgetUsd?: number
  readonly maxRunUsd?: number
  readonly maxToolCalls?: number
  readonly maxTokens?: number
  readonly maxDurationMs?: number
  readonly maxGoalTries?: number
  /** At a limit, end the run or pause until somebody raises it. */
  readonly onLimit?: 'end' | 'pause'
  /** How long an answer is waited for there. */
  readonly pauseForMs?: number
  /** 0 for not at all. */
  readonly waitForLimitsMs?: number
}

/** An opening calls one of them as its flag does. */
const { maxTotalTokens: maxTokensFlag, ...sameNames } = limitFlags
const openingLimits = { ...sameNames, maxTokens: maxTokensFlag } as const

/** What the flags of whoever begins a session say of it. */
export function openingFromFlags(flags: Flags): SessionOpening {
  const { model, tenant, onLimit, pauseFor, waitForLimits } = flags
  const { maxTotalTokens, maxRunUsd, ...others } = limitsIn(flags)
  return {
    ...others,
    // There is no default there that it would take away.
    ...(maxRunUsd !== undefined && maxRunUsd !== Infinity && { maxRunUsd }),
    ...(maxTotalTokens !== undefined && { maxTokens: maxTotalTokens }),
    ...(model !== undefined && { model }),
    ...(tenant !== undefined && { tenant }),
    ...(onLimit !== undefined && { onLimit }),
    ...(pauseFor !== undefined && { pauseForMs: pauseFor }),
    ...(waitForLimits !== undefined && { waitForLimitsMs: waitForLimits }),
  }
}

/** @throws UsageError for what is none. Fields that we do not know are other people's. */
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
  if (!Number.isInteger(maxGoalTries) || Number(maxGoalTries) > mostGoalTries)
    throw new UsageError(`maxGoalTries in the session options must be a whole number up to ${mostGoalTries}.`)
  // Just looked at.
  return opening
}

/** The flags of the worker as they hold for this session. */
export function flagsWithOpening(flags: Flags, opening: SessionOpening): Flags {
  const narrowed = Object.entries(openingLimits).flatMap(([name, flag]) => {
    // True: the keys of `limits` are those of limits in an opening.
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
    // A scripted model stays the one that answers.
    ...(model !== undefined && flags.script === undefined && { model }),
  }
}
