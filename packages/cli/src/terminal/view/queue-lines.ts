import type { QueuedMessage } from '@halting/core/session'
import type { Style } from '../../io/style.ts'
import type { Component } from '../screen/screen-port.ts'
import { oneLineOf } from './lines.ts'
import { saidText } from './said-text.ts'

/** Messages that no run has taken, with what becomes of each (spec R-TERM-23). */
export function queueLines(queue: () => readonly QueuedMessage[], style: Style): Component {
  return {
    render(width) {
      const waiting = queue()
      return (['next', 'later'] as const).flatMap((when) => {
        const messages = waiting.filter((message) => message.when === when)
        const [first] = messages
        const last = messages.at(-1)
        if (first === undefined || last === undefined) return []
        const said = messages.map(({ content }) => `"${oneLineOf(saidText(content), 200)}"`).join(', ')
        return [style.dim(` ${oneLineOf(`queued ${messages.length} ${where[when]}: ${said}`, width - 1)}`)]
      })
    },
  }
}

const where = { next: 'for the next turn', later: 'after the run' } as const
