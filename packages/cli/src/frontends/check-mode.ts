import type { SessionSnapshot } from '@halting/core/session'
import { ConfigurationError } from '@halting/core'

const bypass = 'bypassPermissions'

/** Returns the mode if the session may be set to it. @throws ConfigurationError for `bypassPermissions` unless it was allowed at the start (spec R-RULE-1e). */
export function checkMode(mode: string, { permissionModes }: Pick<SessionSnapshot, 'permissionModes'>): string {
  if (mode === bypass && !permissionModes.includes(bypass))
    throw new ConfigurationError(
      `${bypass} cannot be set: the session was started without --allow-dangerously-skip-permissions, or its settings forbid it.`,
    )
  return mode
}
