import type { InputCheck, Tool } from '@halting/core'
import { isReadOnlyCommand } from '@halting/policy/shell'
import { filledText, inputForm, oneOf, optional, wholeNumber } from './input.ts'
import type { WaitInput } from './waits/watched.ts'
import type { Workspace } from './workspace.ts'

const longestSeconds = 24 * 60 * 60
const defaultSeconds = 600

/** Waits in the place of the model: no request is made meanwhile (spec R-WAIT-10). */
export function createWaitTool(workspace: Workspace): Tool<WaitInput> {
  const form = inputForm<WaitInput>('Wait', {
    task_id: optional(filledText('Until this background command or agent has ended')),
    seconds: optional(wholeNumber('For so long', { minimum: 1 })),
    file_path: optional(filledText('Until this file exists')),
    change: optional(oneOf('exists (when absent), changes or gone', ['exists', 'changes', 'gone'])),
    command: optional(filledText('Until this command for bash exits with 0: it is run again and again')),
    every_seconds: optional(wholeNumber('Between two runs; 5 when absent, longer after a while', { minimum: 1 })),
    pattern: optional(
      filledText(
        'With task_id or command: until a new line of the output matches this, a regular expression as for Grep',
      ),
    ),
    timeout_seconds: optional(
      wholeNumber(`The longest wait; ${defaultSeconds} when absent, ${longestSeconds} at most`, { minimum: 1 }),
    ),
  })
  return {
    name: 'Wait',
    description:
      'Waits without asking you: for the end or the output of a background task, a file, a command that begins to succeed, or some seconds. ' +
      'Give one of task_id, file_path, command and seconds. Ends early when the user writes. Use it in place of polling or sleep.',
    inputSchema: form.schema,
    validate: (input) => checked(form.validate(input)),
    readOnly: ({ command }) => command === undefined || isReadOnlyCommand(command),
    waits: true,
    // What it looks at again and again may be looked at once more.
    onUnknownOutcome: 'rerun',
    async execute(input, context) {
      // Loaded when used.
      const { waitFor } = await import('./waits/wait-for.ts')
      const asked = input.seconds ?? input.timeout_seconds ?? defaultSeconds
      return waitFor(input, workspace, context, {
        seconds: Math.min(asked, longestSeconds),
        isLowered: asked > longestSeconds,
      })
    },
  }
}

const subjects = ['task_id', 'seconds', 'file_path', 'command'] as const

/** Which fields belong together. */
function checked(check: InputCheck<WaitInput>): InputCheck<WaitInput> {
  if (!check.valid) return check
  const { input } = check
  const wrong = (problem: string): InputCheck<WaitInput> => ({ valid: false, message: `Wait: ${problem}.` })
  const given = subjects.filter((name) => input[name] !== undefined)
  if (given.length !== 1)
    return wrong(`give one of ${subjects.join(', ')}${given.length === 0 ? '' : `, not ${given.join(' and ')}`}`)
  const [subject] = given
  if (input.pattern !== undefined && subject !== 'task_id' && subject !== 'command')
    return wrong('pattern is for task_id and command; for the text of a file use a command such as grep -q')
  if (input.change !== undefined && subject !== 'file_path') return wrong('change is for file_path')
  if (input.every_seconds !== undefined && subject !== 'command') return wrong('every_seconds is for command')
  return check
}
