import { parseGoalArgument, type GoalCommand } from '../../frontends/goal-argument.ts'
import { goalRows } from '../../frontends/goal-words.ts'
import { hanging } from '../view/lines.ts'
import { UsageError } from '../../usage-error.ts'
import type { AppContext } from '../app/context.ts'
import type { Command } from './command.ts'
import { requireOpenSession } from './session-commands.ts'
import { loopUsage, parseLoopArgument } from '../../frontends/loop-argument.ts'

const usage: { readonly [name in GoalCommand]: string } = {
  until: '/until npm test · /until + npm run lint: add one · /until off · /goal TEXT: judged by a model',
  goal: '/goal TEXT · /goal off · /until COMMAND: checked by a command',
}

async function setGoal(app: AppContext, name: GoalCommand, argument: string): Promise<void> {
  const { session, local: here } = requireOpenSession(app)
  const { goal } = session.snapshot
  const read = parseGoalArgument(name, argument, goal, Date.now())
  if (read.kind === 'show')
    return app.printLines((width) => [
      app.style.bold('Goals'),
      ...goalRows(goal).flatMap((row) => hanging('  ', row, width)),
      ...hanging('  ', usage[name], width).map(app.style.dim),
    ])
  if (read.command !== undefined && here !== undefined) {
    // An unusable command is reported immediately, instead of at the start of the next run.
    const { unusableCommand } = await import('@halting/agent')
    const unusable = unusableCommand(read.command, app.cwd, here.commandEnvironment)
    if (unusable !== undefined) throw new UsageError(unusable)
  }
  session.set(read.change)
  const isPaused = session.snapshot.goal?.isChecked === false
  app.note(`${read.message}${isPaused ? ' Goals are not checked in plan mode.' : ''}`)
}

/** The commands about goals. */
export const goalCommands: { readonly [name in GoalCommand]: Command } = {
  until: {
    description: 'Work until a command exits with 0; without one, show the goals',
    argumentHint: '[COMMAND | + COMMAND | off]',
    needs: 'settings',
    values: () => ['off'],
    run: (app, argument) => setGoal(app, 'until', argument),
  },
  goal: {
    description: 'Work until a model judges TEXT to be true; prefer /until',
    argumentHint: '[TEXT | off]',
    needs: 'settings',
    values: () => ['off'],
    run: (app, argument) => setGoal(app, 'goal', argument),
  },
}

async function runLoop(app: AppContext, argument: string): Promise<void> {
  const read = parseLoopArgument(argument)
  if (read.kind === 'wrong') return app.note(read.says)
  const loop = await app.loops.of(requireOpenSession(app))
  switch (read.kind) {
    case 'begin':
      return loop.begin(read.terms)
    case 'on':
      return loop.resume()
    case 'off':
      return app.note((await loop.stop()) ? 'The loop is ended.' : 'There is no loop.')
    case 'show': {
      const rows = (await loop.description()) ?? ['There is no loop.']
      return app.printLines((width) => [
        app.style.bold('Loop'),
        ...rows.flatMap((row) => hanging('  ', row, width)),
        ...hanging('  ', loopUsage, width).map(app.style.dim),
      ])
    }
  }
}

/** Repeats a prompt in this session. */
export const loopCommand: Command = {
  description: 'Repeat a prompt at intervals; without one, show the loop',
  argumentHint: '[10m x5 PROMPT | 10m for 2h PROMPT | on | off]',
  needs: 'record',
  values: () => ['on', 'off'],
  run: runLoop,
}
