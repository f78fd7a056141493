import type { Plugin } from '../plugins/plugin.ts'
import { joinedHooks, type ReadHooks, readHooks, type ShellHook, type ShellHookTable } from './settings.ts'

// Spec R-PLUGIN-6.
/** The hooks of plugins, in the order of the plugins: each knows the folder of its own. */
export function readPluginHooks(plugins: readonly Pick<Plugin, 'name' | 'path' | 'hooks'>[]): ReadHooks {
  const warnings: string[] = []
  const tables = plugins.flatMap(({ name, path, hooks }) =>
    hooks.map((given) => {
      const read = readHooks(given)
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
