import { homeFolder } from '@halting/journal/files'
import { type SettingsWriterOptions, placeOfSuggestions, settingsWriter } from '@halting/policy/settings'
import { ConfigurationError } from '@halting/core'
import type { PermissionUpdate } from '@halting/core/adapters'
import type { RunSettings } from './run-settings.ts'
import type { ToolboxSession } from './toolbox.ts'

// Loaded where somebody answers questions, and only there.

/** Keeps what a person allows from now on in the settings file that they mean it for, and suggests the one that would count. */
export async function keeperOf(run: RunSettings, cwd: string): Promise<Pick<ToolboxSession, 'keep' | 'suggestFor'>> {
  const { env, trustedBy } = run
  const options: SettingsWriterOptions = { cwd, env, home: homeFolder(env), trustedBy }
  return { keep: settingsWriter(options), suggestFor: await placeOfSuggestions(options) }
}

/** Of a session that others keep: settings are those of the machine that it is on now, and of every session there. What is allowed holds for the session. */
export const keeperOfSession: Pick<ToolboxSession, 'keep' | 'suggestFor'> = {
  suggestFor: 'session',
  async keep(updates: readonly PermissionUpdate[]): Promise<void> {
    const other = updates.find(({ destination }) => destination !== 'session')
    if (other === undefined) return
    throw new ConfigurationError(
      `A session on a cluster cannot change the settings of its worker (${other.destination}). Use the destination "session".`,
    )
  },
}
