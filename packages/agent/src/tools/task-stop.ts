import type { Tool, ToolContext, ToolOutput } from '@halting/core'
import type { AgentInBackground } from '@halting/core/adapters'
import { filledText, inputForm } from './input.ts'
import { failed } from './result.ts'
import type { Workspace } from './workspace.ts'

/** Input of the TaskStop tool. */
export interface TaskStopInput {
  readonly task_id: string
}

/** Ends a background command of this session, with everything that it started, or an agent that works in the background. */
export function createTaskStopTool(workspace: Workspace): Tool<TaskStopInput> {
  const form = inputForm<TaskStopInput>('TaskStop', {
    task_id: filledText('The id that Bash or Agent gave'),
  })
  return {
    name: 'TaskStop',
    description: 'Ends a background command or an agent of the background by its id.',
    inputSchema: form.schema,
    validate: (input) => form.validate(input),
    readOnly: false,
    // Ending what has ended changes nothing.
    onUnknownOutcome: 'rerun',
    async execute({ task_id: id }, { agents, agentType }): Promise<ToolOutput> {
      const agent = agents?.find(id)
      if (agent !== undefined) return stopAgent(agent)
      const task = workspace.tasks.get(id)
      if (task === undefined) return unknownTask(id, workspace, agents)
      if (task.state !== 'running') return { content: `${id} had ended already.` }
      await workspace.tasks.stop(task)
      const details = { task_id: id, command: task.command }
      const content = `Ended ${id} (${task.command}).`
      // What an agent ended is told to the main conversation, too.
      return { content, details, ...(isOfAgent(agentType) ? {} : workspace.tasks.newsOfEnd(task)) }
    },
  }
}

/** What subagents see of a task, the main conversation has not seen. */
export function isOfAgent(agentType: ToolContext['agentType']): boolean {
  return typeof agentType === 'string'
}

/** The loop tells of its end, and of what it had found. */
async function stopAgent(agent: AgentInBackground): Promise<ToolOutput> {
  const { id, description } = agent
  if (!agent.isWorking) return { content: `${id} had ended already.` }
  await agent.stop()
  return { content: `Stopped ${id} (${description}).`, details: { task_id: id } }
}

export function unknownTask(id: string, workspace: Workspace, agents: ToolContext['agents']): ToolOutput {
  if (workspace.tasks.isEarlier(id))
    return failed(`${id} is of an earlier process of this session, which is gone: it cannot be reached from here.`)
  const known = [...workspace.tasks.ids, ...(agents?.ids ?? [])]
  return failed(`There is no task ${id}. ${known.length === 0 ? 'None was started.' : `Known: ${known.join(', ')}.`}`)
}
