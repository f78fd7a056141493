import type { QueryOptions } from '@halting/core'
import type { RulePermissions, HookSettings } from '@halting/policy'
import type { Plugin } from '../plugins/plugin.ts'
import { joinedHooks, readHooks, type ShellHookTable, type ReadHooks, type ShellHook } from './settings.ts'
import { ShellHooks, type ShellHooksOptions } from './shell-hooks.ts'

/** Options of hooks from settings and plugins. */
export interface SettingsHooksOptions extends Omit<ShellHooksOptions, 'hooks' | 'permissionMode'> {
  /** The hooks of the settings; undefined if there are none. */
  readonly settings: HookSettings | undefined
  /** Plugins, whose hooks follow those of the settings. */
  readonly plugins?: readonly Pick<Plugin, 'name' | 'path' | 'hooks'>[] | undefined
  /** Hooks of the host or program, which follow all others. */
  readonly programHooks?: ShellHookTable | undefined
  /** The permission rules of the session. */
  readonly permissions: RulePermissions
  /** What happens to a call that needs the user's permission, after hooks were asked. */
  readonly whenAsked: 'deny' | 'ask'
  /** Called with problems in the settings. */
  readonly warn: (warning: string) => void
}

/** The hooks of the settings in a session, and the run options that include them. */
export interface SettingsHooks {
  /** The hooks of the session. */
  readonly shell: ShellHooks
  /** Run options that include the hooks. */
  readonly options: Pick<QueryOptions, 'hooks' | 'stopHooks' | 'permissions'>
}

/** Undefined if the settings have no effective hook. */
export function settingsHooks(
  { settings, plugins = [], programHooks: others = {}, permissions, whenAsked, warn, ...options }: SettingsHooksOptions,
  before: Pick<QueryOptions, 'hooks' | 'stopHooks'>,
): SettingsHooks | undefined {
  const fromSettings = readHooks(settings)
  const ofPlugins = readPluginHooks(plugins)
  const hooks = joinedHooks([fromSettings.hooks, ofPlugins.hooks, others])
  for (const warning of [...fromSettings.warnings, ...ofPlugins.warnings]) warn(warning)
  if (Object.values(hooks).flat().length === 0) return undefined
  const shell = new ShellHooks({ ...options, hooks, permissionMode: () => permissions.mode })
  return {
    shell,
    options: {
      hooks: [...(before.hooks ?? []), ...shell.hooks],
      stopHooks: [...(before.stopHooks ?? []), ...shell.stopHooks],
      permissions: shell.permissions(shell.has('PermissionRequest') ? permissions.asking : permissions, whenAsked),
    },
  }
}

// Spec R-PLUGIN-6.
/** The hooks of plugins in order, each with the folder of its plugin. */
export function readPluginHooks(plugins: readonly Pick<Plugin, 'name' | 'path' | 'hooks'>[]): ReadHooks {
  const warnings: string[] = []
  const tables = plugins.flatMap(({ name, path, hooks }) =>
    hooks.map((pluginHook) => {
      const read = readHooks(pluginHook)
      warnings.push(...read.warnings.map((warning) => `the plugin ${name}: ${warning}`))
      return withRoot(read.hooks, path)
    }),
  )
  return { hooks: joinedHooks(tables), warnings }
}

function withRoot(table: ShellHookTable, pluginRoot: string): ShellHookTable {
  return Object.fromEntries(
    Object.entries(table).map(([event, hooks]) => [event, hooks.map((hook): ShellHook => ({ ...hook, pluginRoot }))]),
  )
}
