import type { LimitsInForce, SessionFigures, SessionSnapshot } from '@halting/agent/session'
import { counted, elapsed, many, money, oneLine } from '../../io/figures.ts'
import { UsageError } from '../../usage-error.ts'
import type { AppContext } from '../app/context.ts'
import { nextStopText } from '../view/stop-panel.ts'
import type { Command } from './command.ts'
import { figureRows, lineAfter, rowsOf } from './rows.ts'
import { openIn } from './session-commands.ts'
import { setLimits } from './setting-commands.ts'

function snapshotOf(app: AppContext): SessionSnapshot {
  return openIn(app).session.snapshot
}

const limits: Command = {
  does: 'Limits in force; /limits turns 60 sets one, also in the middle of a run',
  argumentHint: '[turns|usd|tokens|time N]',
  values: () => ['turns', 'usd', 'tokens', 'time'],
  run(app, argument) {
    if (argument !== '') return setLimits(app, argument)
    const { limits: inForce, figures, nextStop } = snapshotOf(app)
    app.tell((width) => [
      app.style.bold('Limits'),
      ...rowsOf(limitRows(inForce, figures), width),
      lineAfter('  ', nextStopText(nextStop), width),
      app.style.dim(
        lineAfter('  ', '/limits turns +20 · /limits usd 2.50 · /limits time 20m · /limits tokens none', width),
      ),
    ])
  },
}

function limitRows(inForce: LimitsInForce, figures: SessionFigures): readonly (readonly [string, string])[] {
  const { maxTurns, maxBudgetUsd, maxTotalTokens, maxDurationMs } = inForce
  const of = (used: string, limit: string | undefined): string =>
    `${used}${limit === undefined ? ', no limit' : ` of ${limit}`}`
  const reserved = figures.reservedUsd > 0 ? ` (+${money(figures.reservedUsd)} reserved)` : ''
  return [
    ['turns', of(counted(figures.turns), maxTurns === null ? undefined : counted(maxTurns))],
    ['usd', of(money(figures.sessionUsd) + reserved, maxBudgetUsd === null ? undefined : money(maxBudgetUsd))],
    ['tokens', of(counted(figures.settledTokens), maxTotalTokens === null ? undefined : counted(maxTotalTokens))],
    ['time', of(elapsed(figures.usedMs), maxDurationMs === null ? undefined : elapsed(maxDurationMs))],
  ]
}

const cost: Command = {
  does: 'What the run and the session cost',
  run(app) {
    const { figures, model } = snapshotOf(app)
    app.tell((width) => [
      app.style.bold('Cost'),
      ...rowsOf(
        [
          [
            'this run',
            `${money(figures.settledUsd)}${figures.reservedUsd > 0 ? `, and ${money(figures.reservedUsd)} reserved` : ''}`,
          ],
          ['the session', money(figures.sessionUsd)],
          ['tokens of this run', counted(figures.settledTokens)],
          ['model', model],
        ],
        width,
      ),
    ])
  },
}

const context: Command = {
  does: 'What fills the window',
  async run(app) {
    const usage = await app.open?.session.contextUsage()
    if (usage === undefined) return
    const { totalTokens, maxTokens, compactsAt, categories } = usage
    const share = (tokens: number): readonly string[] =>
      maxTokens === null || maxTokens === 0 ? [] : [`${((100 * tokens) / maxTokens).toFixed(1)} %`]
    app.tell((width) => [
      app.style.bold(
        oneLine(
          `Context: ${counted(totalTokens)} tokens${maxTokens === null ? '' : ` of ${counted(maxTokens)}`}`,
          width,
        ),
      ),
      ...figureRows(
        categories.map(({ name, tokens }) => [name, counted(tokens), ...share(tokens)] as const),
        width,
      ),
      app.style.dim(
        lineAfter(
          '  ',
          compactsAt === null
            ? 'It is never made shorter by itself.'
            : `It is made shorter at ${counted(compactsAt)} tokens.`,
          width,
        ),
      ),
    ])
  },
}

const todos: Command = {
  does: 'Show the todo list, or hide it',
  run: (app) => app.toggleTodos(),
}

const permissions: Command = {
  does: 'Show the permission mode and rules; explain a Bash command; remove a rule',
  argumentHint: '[COMMAND | remove RULE]',
  values: () => ['remove'],
  async run(app, argument) {
    const { runPermissions } = await import('./permissions-command.ts')
    await runPermissions(app, argument)
  },
}

const doings = ['reconnect', 'on', 'off'] as const

const mcp: Command = {
  does: 'Servers of this session; connects one anew, switches one on or off',
  needs: 'settings',
  argumentHint: '[reconnect|on|off NAME]',
  values: () => doings,
  async run(app, argument) {
    const here = app.open?.here
    if (argument !== '') {
      const [given = '', name = ''] = argument.split(/\s+/)
      const doing = doings.find((known) => known === given)
      if (doing === undefined || name === '')
        throw new UsageError('/mcp lists the servers; /mcp reconnect NAME, /mcp on NAME, /mcp off NAME change one.')
      await here?.changeServer(name, doing)
    }
    const servers = here?.servers() ?? []
    if (servers.length === 0) return app.note('This session has no servers. halting mcp add brings one in.')
    app.tell((width) => [
      app.style.bold('Servers'),
      ...rowsOf(
        servers.map(({ name, status }) => [name, status] as const),
        width,
      ),
    ])
  },
}

const hooks: Command = {
  does: 'Hooks of this session',
  needs: 'settings',
  run(app) {
    const all = app.open?.here?.hooks ?? []
    if (all.length === 0) return app.note('This session has no hooks.')
    app.tell((width) => [
      app.style.bold(many(all.length, 'hook')),
      ...rowsOf(
        all.map(({ event, what }) => [event, what] as const),
        width,
      ),
    ])
  },
}

export const shownCommands: {
  readonly [name in 'limits' | 'cost' | 'context' | 'todos' | 'permissions' | 'mcp' | 'hooks']: Command
} = { limits, cost, context, todos, permissions, mcp, hooks }
