import type { Tool, ToolOutput } from '@halting/core'
import type { BackgroundTask } from './background-tasks.ts'
import { filledText, flag, inputForm, optional, wholeNumber } from './input.ts'
import { unknownTask } from './task-stop.ts'
import type { Workspace } from './workspace.ts'

export interface TaskOutputInput {
  readonly task_id: string
  /** Waits for the task to end; true when absent. */
  readonly block?: boolean
  /** Milliseconds to wait for at most. */
  readonly timeout?: number
}

const defaultWaitMs = 30_000
const longestWaitMs = 600_000

/** Shows what a background command has written, its head and tail, and whether it still runs. */
export function createTaskOutputTool(workspace: Workspace): Tool<TaskOutputInput> {
  const form = inputForm<TaskOutputInput>('TaskOutput', {
    task_id: filledText('The id that Bash gave'),
    block: optional(flag('Wait for its end first; true when absent')),
    timeout: optional(
      wholeNumber(`Milliseconds to wait; ${defaultWaitMs} when absent, ${longestWaitMs} at most`, { minimum: 0 }),
    ),
  })
  return {
    name: 'TaskOutput',
    description:
      'Shows the output of a background command and whether it still runs. Waits for its end unless block is false.',
    inputSchema: form.schema,
    validate: (input) => form.validate(input),
    readOnly: true,
    async execute({ task_id: id, block = true, timeout = defaultWaitMs }, { signal }): Promise<ToolOutput> {
      const task = workspace.tasks.get(id)
      if (task === undefined) return unknownTask(id, workspace)
      const isLowered = timeout > longestWaitMs
      if (block && task.state === 'running') await endOrTimeout(task, Math.min(timeout, longestWaitMs), signal)
      const output = task.shell.output.toString().replace(/\n+$/, '')
      const state = stateOf(task)
      const note = isLowered ? `\nThe timeout was lowered to ${longestWaitMs} ms, the longest.` : ''
      return {
        content: `${state}\n${output === '' ? '(no output yet)' : output}${note}`,
        details: { task_id: id, state },
        ...workspace.tasks.newsOfEnd(task),
      }
    },
  }
}

function stateOf({ state }: BackgroundTask): string {
  if (state === 'running') return 'Still running.'
  if (state === 'stopped') return 'Ended by TaskStop.'
  if (state.kind === 'not started') return `Could not be started: ${state.detail ?? 'unknown'}`
  return state.kind === 'exited' ? `Ended with exit code ${state.exitCode}.` : `Ended by ${state.detail ?? 'a signal'}.`
}

function endOrTimeout(task: BackgroundTask, timeoutMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const settle = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', settle)
      resolve()
    }
    const timer = setTimeout(settle, timeoutMs)
    signal.addEventListener('abort', settle, { once: true })
    void task.shell.ended.then(settle)
    if (signal.aborted) settle()
  })
}
