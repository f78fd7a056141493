import type { SessionSnapshot } from '@halting/core/session'
import { ConfigurationError } from '@halting/core'

const bypass = 'bypassPermissions'

/** The mode, for a session to be set to. @throws ConfigurationError for the one that somebody has to allow before anything starts (spec R-RULE-1e). */
export function checkMode(mode: string, { permissionModes }: Pick<SessionSnapshot, 'permissionModes'>): string {
  if (mode === bypass && !permissionModes.includes(bypass))
    throw new ConfigurationError(
      `${bypass} cannot be set: the session was started without --allow-dangerously-skip-permissions, or its settings forbid it.`,
    )
  return mode
}
