import type { InputCheck, Tool } from '@halting/core'
import { isReadOnlyCommand } from '@halting/policy/shell'
import { filledText, flag, inputForm, oneOf, optional, wholeNumber } from './input.ts'
import { wrongFields } from './waits/wait-texts.ts'
import type { WaitInput } from './waits/watched.ts'
import type { Workspace } from './workspace.ts'

const longestSeconds = 24 * 60 * 60
const defaultSeconds = 600

// Spec R-WAIT-10.
/** Waits on behalf of the model: no request is made meanwhile. */
export function createWaitTool(workspace: Workspace): Tool<WaitInput> {
  const form = inputForm<WaitInput>('Wait', {
    task_id: optional(filledText('Wait for this background command or agent to end')),
    seconds: optional(wholeNumber('Wait for this many seconds', { minimum: 1 })),
    file_path: optional(filledText('Wait for this file or folder to exist')),
    change: optional(
      oneOf('With file_path: exists (default), changes, or gone (deleted)', ['exists', 'changes', 'gone']),
    ),
    command: optional(filledText('Run this Bash command repeatedly until it exits with 0')),
    unconfined: optional(flag('With command: as with Bash')),
    every_seconds: optional(
      wholeNumber('With command: seconds between runs (default: 5, longer over time)', { minimum: 1 }),
    ),
    pattern: optional(
      filledText('With task_id or command: wait for a new line of output that matches this regular expression'),
    ),
    timeout_seconds: optional(
      wholeNumber(`Maximum wait (default: ${defaultSeconds}, at most ${longestSeconds})`, { minimum: 1 }),
    ),
  })
  return {
    name: 'Wait',
    description:
      'Waits for one of: a background task (task_id), a file (file_path), a command that succeeds (command), or a time (seconds). ' +
      'Use it instead of sleep or repeated checks: waiting costs no tokens. Returns early when the user sends a message.',
    inputSchema: form.schema,
    validate: (input) => checked(form.validate(input)),
    readOnly: ({ command }) => command === undefined || isReadOnlyCommand(command),
    waits: true,
    // The polls of the wait may be repeated.
    onUnknownOutcome: 'rerun',
    async execute(input, context) {
      // Loaded on demand.
      const { waitFor } = await import('./waits/wait-for.ts')
      const seconds = input.seconds ?? input.timeout_seconds ?? defaultSeconds
      return waitFor(input, workspace, context, {
        seconds: Math.min(seconds, longestSeconds),
        isLowered: seconds > longestSeconds,
      })
    },
  }
}

const subjects = ['task_id', 'seconds', 'file_path', 'command'] as const

/** Checks which fields may be combined. */
function checked(check: InputCheck<WaitInput>): InputCheck<WaitInput> {
  if (!check.valid) return check
  const { input } = check
  const wrong = (problem: Parameters<typeof wrongFields>[0]): InputCheck<WaitInput> => ({
    valid: false,
    message: wrongFields(problem),
  })
  const present = subjects.filter((name) => input[name] !== undefined)
  if (present.length !== 1) return wrong(present.length === 0 ? 'none' : { several: present })
  const [subject] = present
  if (input.pattern !== undefined && subject !== 'task_id' && subject !== 'command') return wrong('pattern')
  if (input.change !== undefined && subject !== 'file_path') return wrong('change')
  if (input.every_seconds !== undefined && subject !== 'command') return wrong('every_seconds')
  if (input.unconfined === true && subject !== 'command') return wrong('unconfined')
  return check
}
