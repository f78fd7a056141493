import type { Session } from '@halting/core/session'
import { ConfigurationError, type LimitsChange, type SettingsChange } from '@halting/core'
import type { Flags } from '../flags/flags.ts'
import { flagTable } from '../flags/table.ts'
import { limitFlags } from '../flags/limit-flags.ts'

/** Whoever asks a session for something sets no limit beyond those that its worker was started with: it refuses that with a ConfigurationError. */
export function heldToLimits(session: Session, flags: Flags): Session {
  const set = session.set.bind(session)
  // `resume` sets its limits by this, too.
  return Object.assign(session, {
    set(change: SettingsChange) {
      checkLimits(change.limits ?? {}, flags)
      set(change)
    },
  })
}

/** The same for what a session is offered at a pause: as flags and settings of the worker say. */
export function ceilingsOf(flags: Flags): LimitsChange {
  return Object.fromEntries(
    Object.entries(limitFlags).flatMap(([limit, flag]) => {
      const most = flags[flag]
      return most === undefined || most === Infinity ? [] : [[limit, most]]
    }),
  )
}

function checkLimits(limits: LimitsChange, flags: Flags): void {
  for (const [limit, flag] of Object.entries(limitFlags)) {
    const most = flags[flag]
    // True: the keys of `limitFlags` are those of limits.
    const wanted = limits[limit as keyof LimitsChange]
    if (most === undefined || most === Infinity || wanted === undefined || (wanted !== null && wanted <= most)) continue
    throw new ConfigurationError(
      `${limit} of a session is limited to ${most} by ${flagTable[flag].names[0]} or the settings of the worker.`,
    )
  }
}
