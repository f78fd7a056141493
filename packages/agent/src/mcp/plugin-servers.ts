import type { Plugin } from '../plugins/plugin.ts'
import { pluginRoot } from '../plugins/root-variable.ts'
import type { Environment } from '../tools/limits.ts'
import { type McpServerEntry, readMcpServer } from './config.ts'

// Spec R-PLUGIN-7.
/** The servers of plugins, named `plugin:NAME:server`, with the folder of their plugin. */
export function pluginServers(
  plugins: readonly Pick<Plugin, 'name' | 'path' | 'servers'>[],
  env: Environment,
): readonly McpServerEntry[] {
  return plugins.flatMap(({ name, path, servers }) => {
    const root = { [pluginRoot]: path }
    return Object.entries(servers).map(([own, fields]): McpServerEntry => {
      const server = readMcpServer(fields, { ...env, ...root })
      const isProgram = 'type' in server && server.type === 'stdio'
      return {
        name: `plugin:${name}:${own}`,
        server: isProgram ? { ...server, env: { ...root, ...server.env } } : server,
        scope: 'plugin',
      }
    })
  })
}
