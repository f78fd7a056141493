import type { Tool, ToolOutput } from '@halting/core'
import type { AgentInBackground } from '@halting/core/adapters'
import { type BackgroundTask, markShown } from './background-tasks.ts'
import { filledText, flag, inputForm, optional, wholeNumber } from './input.ts'
import { isOfAgent, taskAliases, unknownTask } from './task-stop.ts'
import {
  agentEnded,
  agentWorking,
  noOutputYet,
  resultFollows,
  stillRunning,
  stoppedByTool,
  taskExited,
  taskKilled,
  taskNotStarted,
} from './task-texts.ts'
import { timeoutLowered } from './shell-texts.ts'
import { workOfTask } from './file-work.ts'
import type { Workspace } from './workspace.ts'

/** Input of the TaskOutput tool. */
export interface TaskOutputInput {
  /** Id of the task. */
  readonly task_id: string
  /** Wait for the task to end (default: true). */
  readonly block?: boolean
  /** Maximum wait in milliseconds. */
  readonly timeout?: number
}

const defaultWaitMs = 30_000
const longestWaitMs = 600_000

/**
 * Shows the output of a background command, its head and tail, and whether it is running; for an agent its latest
 * text.
 */
export function createTaskOutputTool(workspace: Workspace): Tool<TaskOutputInput> {
  const form = inputForm<TaskOutputInput>(
    'TaskOutput',
    {
      task_id: filledText('Id from Bash or Agent'),
      block: optional(flag('Wait until it ends (default: true)')),
      timeout: optional(
        wholeNumber(`Milliseconds to wait (default: ${defaultWaitMs}, at most ${longestWaitMs})`, { minimum: 0 }),
      ),
    },
    taskAliases,
  )
  return {
    name: 'TaskOutput',
    description: 'Returns the output and state of a background command or agent. For long waits use Wait.',
    inputSchema: form.schema,
    canonicalInput: (input) => form.canonicalInput(input),
    validate: (input) => form.validate(input),
    readOnly: true,
    async execute({ task_id: id, block = true, timeout = defaultWaitMs }, context): Promise<ToolOutput> {
      const { signal, agents, agentType } = context
      const waitMs = block ? Math.min(timeout, longestWaitMs) : 0
      const note = timeout > longestWaitMs ? `\n${timeoutLowered(longestWaitMs)}` : ''
      const agent = agents?.find(id)
      if (agent !== undefined) return wordsOfAgent(agent, waitMs, signal, note)
      const task = workspace.tasks.get(id)
      if (task === undefined) return unknownTask(id, workspace, agents)
      const onEnd: OnEnd = (settle) => void task.shell.ended.then(settle)
      if (block && task.state === 'running') await endOrTimeout(onEnd, waitMs, signal)
      const { output: bounded } = task.shell
      // Of a failure the last lines matter most, as for Bash.
      const output = (hasFailed(task) ? bounded.tailFirst() : bounded.toString()).replace(/\n+$/, '')
      const state = stateOf(task)
      markShown(task, context)
      return {
        content: `${state}\n${output === '' ? noOutputYet : output}${note}`,
        details: { task_id: id, state },
        ...workOfTask(task, workspace),
        // The end is not reported to agents: the main conversation must receive it.
        ...(isOfAgent(agentType) ? {} : workspace.tasks.unreportedEnd(task)),
      }
    },
  }
}

function hasFailed({ state }: BackgroundTask): boolean {
  return typeof state !== 'string' && !(state.kind === 'exited' && state.exitCode === 0)
}

/** Returns whether the task is running, or how it ended, in a sentence. */
export function stateOf({ state }: BackgroundTask): string {
  if (state === 'running') return stillRunning
  if (state === 'stopped') return stoppedByTool
  if (state.kind === 'not started') return taskNotStarted(state.detail)
  return state.kind === 'exited' ? taskExited(state.exitCode) : taskKilled(state.detail)
}

/** The loop reports the agent's end, with its result. */
async function wordsOfAgent(
  agent: AgentInBackground,
  waitMs: number,
  signal: AbortSignal,
  note: string,
): Promise<ToolOutput> {
  if (agent.isWorking && waitMs > 0) await endOrTimeout((settle) => agent.onEnd(settle), waitMs, signal)
  const state = agent.isWorking ? agentWorking : agentEnded
  const latestText = agent.isWorking ? agent.output || noOutputYet : resultFollows
  return { content: `${state}\n${latestText}${note}`, details: { task_id: agent.id, state } }
}

/**
 * Calls the listener at the end of a task, immediately if it has already ended. May return a function that removes the
 * listener.
 */
type OnEnd = (settle: () => void) => (() => void) | void

function endOrTimeout(onEnd: OnEnd, timeoutMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const letGo: ((() => void) | void)[] = []
    const settle = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', settle)
      for (const stop of letGo) stop?.()
      resolve()
    }
    const timer = setTimeout(settle, timeoutMs)
    signal.addEventListener('abort', settle, { once: true })
    letGo.push(onEnd(settle))
    if (signal.aborted) settle()
  })
}
