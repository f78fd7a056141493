import type { Tool, ToolContext, ToolOutput } from '@halting/core'
import type { AgentInBackground } from '@halting/core/adapters'
import { filledText, inputForm } from './input.ts'
import { errorResult } from './result.ts'
import { alreadyEnded, earlierTask, taskStopped, unknownTaskId } from './task-texts.ts'
import type { Workspace } from './workspace.ts'

/** Input of the TaskStop tool. */
export interface TaskStopInput {
  /** Id of the task. */
  readonly task_id: string
}

/** Other names for the id of a task. */
export const taskAliases = { bash_id: 'task_id', shell_id: 'task_id', id: 'task_id' } as const

/** Stops a background command of this session with everything that it started, or a background agent. */
export function createTaskStopTool(workspace: Workspace): Tool<TaskStopInput> {
  const form = inputForm<TaskStopInput>(
    'TaskStop',
    {
      task_id: filledText('Id from Bash or Agent'),
    },
    taskAliases,
  )
  return {
    name: 'TaskStop',
    description: 'Stops a background command or agent.',
    inputSchema: form.schema,
    canonicalInput: (input) => form.canonicalInput(input),
    validate: (input) => form.validate(input),
    readOnly: false,
    // Stopping a stopped task changes nothing.
    onUnknownOutcome: 'rerun',
    async execute({ task_id: id }, { agents, agentType }): Promise<ToolOutput> {
      const agent = agents?.find(id)
      if (agent !== undefined) return stopAgent(agent)
      const task = workspace.tasks.get(id)
      if (task === undefined) return unknownTask(id, workspace, agents)
      if (task.state !== 'running') return { content: alreadyEnded(id) }
      await workspace.tasks.stop(task)
      const details = { task_id: id, command: task.command }
      const content = taskStopped(id, task.command)
      // If an agent stops a task, the main conversation is notified too.
      return { content, details, ...(isOfAgent(agentType) ? {} : workspace.tasks.unreportedEnd(task)) }
    },
  }
}

/** Whether a subagent calls. The main conversation has not seen what subagents see of a task. */
export function isOfAgent(agentType: ToolContext['agentType']): boolean {
  return typeof agentType === 'string'
}

/** The loop reports the agent's end and its findings. */
async function stopAgent(agent: AgentInBackground): Promise<ToolOutput> {
  const { id, description } = agent
  if (!agent.isWorking) return { content: alreadyEnded(id) }
  await agent.stop()
  return { content: taskStopped(id, description), details: { task_id: id } }
}

export function unknownTask(id: string, workspace: Workspace, agents: ToolContext['agents']): ToolOutput {
  if (workspace.tasks.isEarlier(id)) return errorResult(earlierTask(id))
  const known = [...workspace.tasks.ids, ...(agents?.ids ?? [])]
  return errorResult(unknownTaskId(id, known.join(', ')))
}
