import { headOf } from '@halting/core/adapters'
import type { TaskEnded } from '@halting/core/adapters'
import type { BackgroundTask } from './background-tasks.ts'

/** How a task that does not run any more ended. */
export function endOf({ id, started, state }: BackgroundTask): readonly TaskEnded[] {
  const summary = `The command ${started.description} ${howOf(state)}. TaskOutput shows what it wrote.`
  return [{ type: 'ended', id, status: statusOf(state), summary }]
}

function statusOf(state: BackgroundTask['state']): TaskEnded['status'] {
  if (typeof state === 'string') return 'stopped'
  return state.exitCode === 0 ? 'completed' : 'failed'
}

function howOf(state: BackgroundTask['state']): string {
  if (typeof state === 'string') return 'was stopped'
  if (state.kind === 'not started') return `could not be started: ${state.detail ?? 'unknown'}`
  return state.kind === 'exited'
    ? `ended with exit code ${state.exitCode}`
    : `was ended by ${state.detail ?? 'a signal'}`
}

const longestShown = 120

/** A command in quotes: on one line, and not for ever. */
export function shownCommand(command: string, redact: ((text: string) => string) | undefined): string {
  const line = (redact?.(command) ?? command).replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\s]+/gu, ' ').trim()
  // As JSON: nothing in it ends the quotes and goes on as the loop's own words.
  return JSON.stringify(line.length <= longestShown ? line : `${headOf(line, longestShown)} ...`)
}

/** What the model is told where a command was started. */
export function startedWords(
  { id }: BackgroundTask,
  atEnd: 'wait' | 'stop' | 'keep' | undefined,
  who: 'main' | 'agent',
): string {
  const told = atEnd === undefined ? '' : who === 'agent' ? toldToMain : ` You are told when it ends${whatThen[atEnd]}.`
  return `Started in the background as ${id}.${told} TaskOutput reads what it writes, TaskStop ends it.`
}

/** An agent may have ended by then. */
const toldToMain =
  ' It goes on when you are done, and its end is told to the main conversation: stop what is needed no longer.'

/** What it has to know of what comes after its answer. */
const whatThen = {
  wait: '. The run waits for it: stop what is needed no longer',
  stop: '. It is stopped when the run ends',
  keep: '. It goes on when the run ends',
} as const
