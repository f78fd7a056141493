import { ConfigurationError } from '@halting/core'
import { pluginRow } from '@halting/agent/session-settings'
import { serverStatus } from './server-status.ts'
import type { ServeOne } from './serving.ts'
import { withStatusCommands } from './status-commands.ts'

/** By which hosts have what people wrote for agents read anew, by its subtype (spec R-HOST-15). */
export const reloadRequests: { readonly [subtype: string]: ServeOne } = {
  async reload_skills(_fields, { opened }) {
    await opened.readAnew()
    return { response: { skills: opened.commands() } }
  },
  async reload_plugins({ add_plugins: more, refuse_if_busy: refuses }, { opened }) {
    if (Array.isArray(more) && more.length > 0)
      throw new ConfigurationError('Plugins can be added only when a session starts. Nothing was reloaded.')
    if (refuses === true && opened.session.snapshot.status !== 'idle')
      throw new ConfigurationError('A run is in progress. Nothing was reloaded.')
    await opened.readAnew()
    const { all, problems } = opened.plugins()
    return {
      response: {
        commands: withStatusCommands(opened.commands()),
        agents: opened.agents(),
        plugins: all.map(pluginRow),
        mcpServers: (opened.servers?.statuses() ?? []).map(serverStatus),
        error_count: problems.length,
      },
    }
  },
}
