import { homeFolder, type KeeperOptions, placeOfSuggestions, settingsKeeper } from '@halting/agent'
import { type RunSettings, trustedBy } from './run-settings.ts'
import type { ToolboxSession } from './toolbox.ts'

// Loaded where somebody answers questions, and only there.

/** Keeps what a person allows from now on in the settings file that they mean it for, and suggests the one that would count. */
export async function keeperOf(run: RunSettings, cwd: string): Promise<Pick<ToolboxSession, 'keep' | 'suggestFor'>> {
  const { flags, env } = run
  const options: KeeperOptions = { cwd, env, home: homeFolder(env), trustedBy: trustedBy(flags, env) }
  return { keep: settingsKeeper(options), suggestFor: await placeOfSuggestions(options) }
}
