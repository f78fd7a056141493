import type { SessionSnapshot } from '@halting/core/session'
import { many } from '../../io/figures.ts'
import { indentedLines, namedTextLines } from '../../io/table.ts'
import {
  compactionRemark,
  contextReport,
  costReport,
  limitsReport,
  standingBudgetRows,
} from '../../frontends/status-reports.ts'
import { UsageError } from '../../usage-error.ts'
import type { AppContext } from '../app/context.ts'
import type { Command } from './command.ts'
import { requireOpenSession } from './session-commands.ts'
import { setLimits } from './setting-commands.ts'

function snapshotOf(app: AppContext): SessionSnapshot {
  return requireOpenSession(app).session.snapshot
}

const limits: Command = {
  description: 'Show the limits; /limits turns 60 sets one, also during a run',
  argumentHint: '[turns|usd|run-usd|tokens|time|calls|tries N]',
  values: () => ['turns', 'usd', 'run-usd', 'tokens', 'time', 'calls', 'tries'],
  run(app, argument) {
    if (argument !== '') return setLimits(app, argument)
    const snapshot = snapshotOf(app)
    app.printLines((width) => {
      const { heading, rows } = limitsReport(snapshot, width)
      const example = '/limits turns +20 · /limits usd 2.50 · /limits run-usd none · /limits time 20m'
      const budgets = standingBudgetRows(app.open?.standingBudgets?.() ?? [], width)
      return [app.style.bold(heading), ...rows, ...budgets, ...indentedLines(example, width).map(app.style.dim)]
    })
  },
}

const cost: Command = {
  description: 'Show what the run and the session cost',
  run(app) {
    const snapshot = snapshotOf(app)
    app.printLines((width) => {
      const { heading, rows } = costReport(snapshot, width)
      return [app.style.bold(heading), ...rows]
    })
  },
}

const context: Command = {
  description: 'Show what fills the context window',
  async run(app) {
    const usage = await app.open?.session.contextUsage()
    if (usage === undefined) return
    app.printLines((width) => {
      const { heading, rows } = contextReport(usage, width)
      return [app.style.bold(heading), ...rows, ...indentedLines(compactionRemark(usage), width).map(app.style.dim)]
    })
  },
}

const todos: Command = {
  description: 'Show the todo list, or hide it',
  run: (app) => app.toggleTodos(),
}

const permissions: Command = {
  description: 'Show mode and rules; check a Bash command; remove a rule',
  argumentHint: '[COMMAND | remove RULE]',
  values: () => ['remove'],
  async run(app, argument) {
    const { runPermissions } = await import('./permissions-command.ts')
    await runPermissions(app, argument)
  },
}

const mcpActions = ['reconnect', 'on', 'off'] as const

const mcp: Command = {
  description: 'List MCP servers; reconnect one, or switch it on or off',
  needs: 'settings',
  argumentHint: '[reconnect|on|off NAME]',
  values: () => mcpActions,
  async run(app, argument) {
    const here = app.open?.local
    if (argument !== '') {
      const [word = '', name = ''] = argument.split(/\s+/)
      const action = mcpActions.find((known) => known === word)
      if (action === undefined || name === '')
        throw new UsageError('Use /mcp, /mcp reconnect NAME, /mcp on NAME or /mcp off NAME.')
      await here?.changeServer(name, action)
    }
    const servers = here?.servers() ?? []
    if (servers.length === 0) return app.note('This session has no MCP servers. Add one with halting mcp add.')
    app.printLines((width) => [
      app.style.bold('Servers'),
      ...namedTextLines(
        servers.map(({ name, status }) => [name, status] as const),
        width,
      ),
    ])
  },
}

const hooks: Command = {
  description: 'List the hooks of this session',
  needs: 'settings',
  run(app) {
    const all = app.open?.local?.hooks ?? []
    if (all.length === 0) return app.note('This session has no hooks.')
    app.printLines((width) => [
      app.style.bold(many(all.length, 'hook')),
      ...namedTextLines(
        all.map(({ event, what }) => [event, what] as const),
        width,
      ),
    ])
  },
}

export const statusCommands: {
  readonly [name in 'limits' | 'cost' | 'context' | 'todos' | 'permissions' | 'mcp' | 'hooks']: Command
} = { limits, cost, context, todos, permissions, mcp, hooks }
