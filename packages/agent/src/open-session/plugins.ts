import type { SessionChoices } from './choices.ts'
import type { SessionNotice } from './ports.ts'
import type { LoadedSettings } from '@halting/policy/settings'
import type { NamedPlugin } from '../plugins/read-plugins.ts'
import type { Plugin, Plugins } from '../plugins/plugin.ts'
import type { QueryOptions } from '@halting/core'

/** A session without plugins. */
export const noPlugins: Plugins = { all: [], problems: [] }

// Spec R-PLUGIN-1.
/** The plugins that choices name. Nothing is loaded where they name none. */
export async function pluginsOf(
  { pluginDir = [], pluginDirNoMcp = [] }: SessionChoices,
  cwd: string,
): Promise<Plugins> {
  const named: readonly NamedPlugin[] = [
    ...pluginDir.map((path) => ({ path })),
    ...pluginDirNoMcp.map((path) => ({ path, skipsServers: true })),
  ]
  if (named.length === 0) return noPlugins
  const { readPlugins } = await import('../instructions/index.ts')
  return readPlugins(named, cwd)
}

interface Weighed extends Pick<LoadedSettings, 'origins'> {
  readonly plugins: Plugins
}

/** Those whose hooks are called: none where settings leave hooks to an administrator, as they do for all files. */
export function pluginsWithHooks({ plugins, origins }: Weighed): readonly Plugin[] {
  return whoClosesHooks(origins) === undefined ? plugins.all.filter(({ hooks }) => hooks.length > 0) : []
}

/** What a person is told where hooks of plugins do not count. */
export function hooksNotice({ plugins, origins }: Weighed): readonly SessionNotice[] {
  const closed = whoClosesHooks(origins)
  const names = plugins.all.filter(({ hooks }) => hooks.length > 0).map(({ name }) => name)
  if (closed === undefined || names.length === 0) return []
  return [{ kind: 'plugin_hooks_off', plugins: names, setting: closed.setting, from: closed.from }]
}

function whoClosesHooks(origins: Weighed['origins']): Weighed['origins'][number] | undefined {
  return origins.find(
    ({ setting, value }) => value === true && (setting === 'disableAllHooks' || setting === 'allowManagedHooksOnly'),
  )
}

/** What `system/init` tells of them. */
export function pluginsInit({ all, problems }: Plugins): NonNullable<QueryOptions['init']> {
  return {
    plugins: all.map(pluginRow),
    ...(problems.length > 0 && { plugin_errors: problems.map((problem) => ({ ...problem })) }),
  }
}

/** A plugin as hosts are told of it. */
export function pluginRow({ name, path, version }: Plugin): {
  /** Name of the plugin. */
  readonly name: string
  /** Path of its folder. */
  readonly path: string
  /** Its version; absent where it says none. */
  readonly version?: string
} {
  return { name, path, ...(version !== undefined && { version }) }
}
