import type { GuardRemaining } from './guard.ts'

/** What `remaining` says of a limit; nothing of one that is never reached. */
export function figures(
  guard: string,
  used: number,
  limit: number,
  unit: GuardRemaining['unit'],
): GuardRemaining | undefined {
  return limit === Infinity ? undefined : { guard, used, limit, unit }
}

/** What `remaining` says where there is nothing to count. */
export function conditionFigures(guard: string, holds: boolean): GuardRemaining {
  return { guard, used: holds ? 1 : 0, limit: 1, unit: 'condition' }
}
