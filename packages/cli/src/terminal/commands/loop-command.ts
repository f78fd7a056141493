import { loopUsage, readLoop } from '../../frontends/loop-argument.ts'
import type { AppContext } from '../app/context.ts'
import { hanging } from '../view/lines.ts'
import type { Command } from './command.ts'
import { openIn } from './session-commands.ts'

async function runLoop(app: AppContext, argument: string): Promise<void> {
  const read = readLoop(argument)
  if (read.kind === 'wrong') return app.note(read.says)
  const loop = await app.loops.of(openIn(app))
  switch (read.kind) {
    case 'begin':
      return loop.begin(read.terms)
    case 'on':
      return loop.resume()
    case 'off':
      return app.note((await loop.stop()) ? 'The loop is ended.' : 'There is no loop.')
    case 'show': {
      const rows = (await loop.description()) ?? ['There is no loop.']
      return app.tell((width) => [
        app.style.bold('Loop'),
        ...rows.flatMap((row) => hanging('  ', row, width)),
        ...hanging('  ', loopUsage, width).map(app.style.dim),
      ])
    }
  }
}

/** A prompt of the session that is repeated. */
export const loopCommand: Command = {
  does: 'Repeat a prompt at intervals; without one, show the loop',
  argumentHint: '[10m x5 PROMPT | 10m for 2h PROMPT | on | off]',
  needs: 'record',
  values: () => ['on', 'off'],
  run: runLoop,
}
