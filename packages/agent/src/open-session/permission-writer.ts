import { homeFolder } from '@halting/journal/files'
import { type SettingsWriterOptions, suggestionDestination, settingsWriter } from '@halting/policy/settings'
import { ConfigurationError } from '@halting/core'
import type { PermissionUpdate } from '@halting/core/adapters'
import type { RunSettings } from './run-settings.ts'
import type { ToolboxSession } from './toolbox.ts'

// Loaded only if somebody answers questions.

/** Stores permissions in the settings file that the user selects, and suggests the file that would take effect. */
export async function permissionWriter(
  run: RunSettings,
  cwd: string,
): Promise<Pick<ToolboxSession, 'keep' | 'suggestFor'>> {
  const { env, trustedBy } = run
  const options: SettingsWriterOptions = { cwd, env, home: homeFolder(env), trustedBy }
  return { keep: settingsWriter(options), suggestFor: await suggestionDestination(options) }
}

/**
 * For a session that is stored elsewhere: settings belong to the current machine and apply to all of its sessions, so
 * permissions last only for the session.
 */
export const sessionOnlyWriter: Pick<ToolboxSession, 'keep' | 'suggestFor'> = {
  suggestFor: 'session',
  async keep(updates: readonly PermissionUpdate[]): Promise<void> {
    const other = updates.find(({ destination }) => destination !== 'session')
    if (other === undefined) return
    throw new ConfigurationError(
      `A session on a cluster cannot change the settings of its worker (${other.destination}). Use the destination "session".`,
    )
  },
}
