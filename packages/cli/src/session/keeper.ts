import { homeFolder, settingsKeeper } from '@halting/agent'
import { type RunSettings, trustedBy } from './run-settings.ts'

// Loaded where somebody answers questions, and only there.

/** Keeps what a person allows from now on in the settings file that they mean it for. */
export function keeperOf({ flags, env }: RunSettings, cwd: string): ReturnType<typeof settingsKeeper> {
  return settingsKeeper({ cwd, env, home: homeFolder(env), trustedBy: trustedBy(flags, env) })
}
