import type { SessionChoices } from './choices.ts'
import type { SessionPorts } from './ports.ts'
import type { BriefingPlaces } from '../instructions/places.ts'
import { homeFolder } from '@halting/journal/files'
import type { Plugins } from '../plugins/plugin.ts'

/** Returns the folders in which a session looks for instructions, commands, skills and agents. */
export function placesOf(
  {
    choices,
    env,
    plugins,
  }: { readonly choices: SessionChoices; readonly env: SessionPorts['env']; readonly plugins?: Plugins },
  cwd: string,
): BriefingPlaces {
  const known = ['user', 'project', 'local'] as const
  const sources = choices.settingSources && known.filter((source) => choices.settingSources?.includes(source))
  return { cwd, env, home: homeFolder(env), sources, plugins: plugins?.all }
}
