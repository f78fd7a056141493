import type { SessionChoices } from './choices.ts'
import type { SessionNotice } from './ports.ts'
import type { LoadedSettings } from '@halting/policy/settings'
import type { NamedPlugin } from '../plugins/read-plugins.ts'
import type { Plugin, Plugins } from '../plugins/plugin.ts'
import type { QueryOptions } from '@halting/core'

/** A session without plugins. */
export const noPlugins: Plugins = { all: [], problems: [] }

// Spec R-PLUGIN-1.
/** The plugins that the choices name. Loads nothing if there are none. */
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

interface PluginSettings extends Pick<LoadedSettings, 'origins'> {
  readonly plugins: Plugins
}

/** Plugins whose hooks are called: none if an administrator's settings reserve hooks, as for all files. */
export function pluginsWithHooks({ plugins, origins }: PluginSettings): readonly Plugin[] {
  return whoClosesHooks(origins) === undefined ? plugins.all.filter(({ hooks }) => hooks.length > 0) : []
}

/** The notice about plugin hooks that are ignored. */
export function hooksNotice({ plugins, origins }: PluginSettings): readonly SessionNotice[] {
  const closed = whoClosesHooks(origins)
  const names = plugins.all.filter(({ hooks }) => hooks.length > 0).map(({ name }) => name)
  if (closed === undefined || names.length === 0) return []
  return [{ kind: 'plugin_hooks_off', plugins: names, setting: closed.setting, from: closed.from }]
}

function whoClosesHooks(origins: PluginSettings['origins']): PluginSettings['origins'][number] | undefined {
  return origins.find(
    ({ setting, value }) => value === true && (setting === 'disableAllHooks' || setting === 'allowManagedHooksOnly'),
  )
}

/** The fields of `system/init` about plugins. */
export function pluginsInit({ all, problems }: Plugins): NonNullable<QueryOptions['init']> {
  return {
    plugins: all.map(pluginRow),
    ...(problems.length > 0 && { plugin_errors: problems.map((problem) => ({ ...problem })) }),
  }
}

/** A plugin as reported to hosts. */
export function pluginRow({ name, path, version }: Plugin): {
  /** Name of the plugin. */
  readonly name: string
  /** Path of its folder. */
  readonly path: string
  /** Version of the plugin; absent if it has none. */
  readonly version?: string
} {
  return { name, path, ...(version !== undefined && { version }) }
}
