import type { Tool, ToolOutput } from '@halting/core'
import { filledText, inputForm } from './input.ts'
import { failed } from './result.ts'
import type { Workspace } from './workspace.ts'

export interface TaskStopInput {
  readonly task_id: string
}

/** Ends a background command of this session, with everything that it started. */
export function createTaskStopTool(workspace: Workspace): Tool<TaskStopInput> {
  const form = inputForm<TaskStopInput>('TaskStop', {
    task_id: filledText('The id that Bash gave'),
  })
  return {
    name: 'TaskStop',
    description: 'Ends a background command by its id.',
    inputSchema: form.schema,
    validate: (input) => form.validate(input),
    readOnly: false,
    // Ending what has ended changes nothing.
    onUnknownOutcome: 'rerun',
    async execute({ task_id: id }): Promise<ToolOutput> {
      const task = workspace.tasks.get(id)
      if (task === undefined) return unknownTask(id, workspace)
      if (task.state !== 'running') return { content: `${id} had ended already.` }
      // Nobody else tells of it.
      task.isTold = true
      await workspace.tasks.stop(task)
      const details = { task_id: id, command: task.command }
      return { content: `Ended ${id} (${task.command}).`, details, tasks: workspace.tasks.endOf(task) }
    },
  }
}

export function unknownTask(id: string, workspace: Workspace): ToolOutput {
  if (workspace.tasks.isEarlier(id))
    return failed(`${id} is of an earlier process of this session, which is gone: it cannot be reached from here.`)
  const known = workspace.tasks.ids
  return failed(`There is no task ${id}. ${known.length === 0 ? 'None was started.' : `Known: ${known.join(', ')}.`}`)
}
