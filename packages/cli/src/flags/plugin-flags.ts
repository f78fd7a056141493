import type { FlagFor } from './flag-kinds.ts'
import type { Flags } from './flags.ts'
import { single } from './values.ts'

type PluginFlag = 'pluginDir' | 'pluginDirNoMcp'

/** Flags that name plugins: rows of the one table. */
export const pluginFlags: { readonly [Name in PluginFlag]-?: FlagFor<NonNullable<Flags[Name]>> } = {
  pluginDir: {
    names: ['--plugin-dir'],
    group: 'tools',
    kind: 'list',
    value: 'FOLDER',
    read: single,
    meaning: 'A plugin: its commands, skills, agents, hooks and servers are there; may be given several times',
  },
  pluginDirNoMcp: {
    names: ['--plugin-dir-no-mcp'],
    group: 'tools',
    kind: 'list',
    value: 'FOLDER',
    read: single,
    meaning: 'The same, without its servers',
  },
}
