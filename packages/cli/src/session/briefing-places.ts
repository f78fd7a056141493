import type { BriefingPlaces } from '@halting/agent'
import { homeFolder } from '@halting/policy/files'
import type { Plugins } from '@halting/agent/instructions'
import type { Flags } from '../flags/flags.ts'
import type { Program } from '../program.ts'

/** Where a session looks for what people wrote for agents. */
export function placesOf(
  { flags, env, plugins }: { readonly flags: Flags; readonly env: Program['env']; readonly plugins?: Plugins },
  cwd: string,
): BriefingPlaces {
  const known = ['user', 'project', 'local'] as const
  const sources = flags.settingSources && known.filter((source) => flags.settingSources?.includes(source))
  return { cwd, env, home: homeFolder(env), sources, plugins: plugins?.all }
}
