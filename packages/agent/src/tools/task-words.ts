import { headOf } from '@halting/core/adapters'
import type { TaskEnded } from '@halting/core/adapters'
import type { BackgroundTask } from './background-tasks.ts'
import type { HasTool } from './available-tools.ts'
import { commandEnded } from './task-texts.ts'

export { leftChildren, leftCommand, startedInBackground } from './task-texts.ts'

/** How a finished task ended. */
export function endOf({ id, started, state }: BackgroundTask, has: HasTool): readonly TaskEnded[] {
  const how = typeof state === 'string' ? ({ kind: 'stopped' } as const) : state
  const summary = commandEnded(started.description, how, has)
  return [{ type: 'ended', id, status: statusOf(state), summary }]
}

function statusOf(state: BackgroundTask['state']): TaskEnded['status'] {
  if (typeof state === 'string') return 'stopped'
  return state.exitCode === 0 ? 'completed' : 'failed'
}

const longestShown = 120

/** A command in quotes, on one line and shortened. */
export function shownCommand(command: string, redact: ((text: string) => string) | undefined): string {
  const line = (redact?.(command) ?? command).replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\s]+/gu, ' ').trim()
  // Formats the command as JSON, so that it cannot end the quotes and continue as the loop's own words.
  return JSON.stringify(line.length <= longestShown ? line : `${headOf(line, longestShown)} ...`)
}
