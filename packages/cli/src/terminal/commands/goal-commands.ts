import { readGoal, type GoalCommand } from '../../frontends/goal-argument.ts'
import { goalRows } from '../../frontends/goal-words.ts'
import { hanging } from '../view/lines.ts'
import { UsageError } from '../../usage-error.ts'
import type { AppContext } from '../app/context.ts'
import type { Command } from './command.ts'
import { openIn } from './session-commands.ts'

const usage: { readonly [name in GoalCommand]: string } = {
  until: '/until npm test · /until + npm run lint adds one · /until off · /goal TEXT has a model judge',
  goal: '/goal TEXT · /goal off · /until COMMAND has a program check',
}

async function setGoal(app: AppContext, name: GoalCommand, argument: string): Promise<void> {
  const { session, here } = openIn(app)
  const { goal } = session.snapshot
  const read = readGoal(name, argument, goal, Date.now())
  if (read.kind === 'show')
    return app.tell((width) => [
      app.style.bold('Goals'),
      ...goalRows(goal).flatMap((row) => hanging('  ', row, width)),
      ...hanging('  ', usage[name], width).map(app.style.dim),
    ])
  if (read.command !== undefined && here !== undefined) {
    // Now, and not where a run finds it before its first request.
    const { unusableCommand } = await import('@halting/agent')
    const unusable = unusableCommand(read.command, app.cwd, here.commandEnvironment)
    if (unusable !== undefined) throw new UsageError(unusable)
  }
  session.set(read.change)
  const isPaused = session.snapshot.goal?.isChecked === false
  app.note(`${read.says}${isPaused ? ' Nothing is checked in plan mode.' : ''}`)
}

/** Goals of the session. */
export const goalCommands: { readonly [name in GoalCommand]: Command } = {
  until: {
    does: 'Go on until a command exits with 0; without one, show the goals and how they stand',
    argumentHint: '[COMMAND | + COMMAND | off]',
    needs: 'settings',
    values: () => ['off'],
    run: (app, argument) => setGoal(app, 'until', argument),
  },
  goal: {
    does: 'Go on until a model finds that something holds; a command is surer',
    argumentHint: '[TEXT | off]',
    needs: 'settings',
    values: () => ['off'],
    run: (app, argument) => setGoal(app, 'goal', argument),
  },
}
