import type { ToolOutput } from '@halting/core'
import type { AgentInBackground } from '@halting/core/adapters'
import { type BackgroundTask, markShown, unshownOutput } from '../background-tasks.ts'
import { BoundedOutput } from '../bounded-output.ts'
import { errorResult } from '../result.ts'
import { stateOf } from '../task-output.ts'
import { isOfAgent, unknownTask } from '../task-stop.ts'
import { type LinePattern, LineSearch } from './line-pattern.ts'
import { agentEnded, agentRunning, patternOfAgent, taskEnd, taskOutput, taskState, taskWrote } from './wait-texts.ts'
import type { WaitResult, WaitCall, Watched } from './watched.ts'

/** Characters of output next to a matching line, or of a running task: TaskOutput shows more. */
const outputCharacters = 4_000

/** Watches a background command or agent; an error result if none exists with this id. */
export function watchTask(
  id: string,
  call: WaitCall,
  pattern: LinePattern | undefined,
): Watched<string | undefined> | ToolOutput {
  const { workspace, context } = call
  const agent = context.agents?.find(id)
  if (agent !== undefined) {
    if (pattern !== undefined) return errorResult(patternOfAgent)
    return watchAgent(agent)
  }
  const task = workspace.tasks.get(id)
  return task === undefined ? unknownTask(id, workspace, context.agents) : watchCommand(task, call, pattern)
}

/** The loop reports the end of an agent, with its result. */
function watchAgent(agent: AgentInBackground): Watched<undefined> {
  const currentResult = (): WaitResult =>
    agent.isWorking
      ? { sentences: agentRunning(agent.id), output: agent.output, details: { task_id: agent.id } }
      : { sentences: agentEnded(agent.id), details: { task_id: agent.id } }
  return {
    what: taskEnd(agent.id),
    watch(met) {
      if (agent.isWorking) return agent.onEnd(() => met(undefined))
      met(undefined)
      return () => undefined
    },
    met: currentResult,
    unmet: currentResult,
  }
}

/** Met by a matching line; by undefined at the end of the command. */
function watchCommand(
  task: BackgroundTask,
  { workspace, context, input }: WaitCall,
  pattern: LinePattern | undefined,
): Watched<string | undefined> {
  const { id, shell } = task
  const newOutput = (most: number): string => {
    const bounded = new BoundedOutput(Math.min(most, shell.output.limit), workspace.redact)
    bounded.append(unshownOutput(task, context))
    markShown(task, context)
    return bounded.toString().replace(/\n+$/, '')
  }
  const resultWith = (sentences: string, most: number): WaitResult => ({
    sentences: sentences,
    output: newOutput(most),
    details: { task_id: id, state: stateOf(task) },
    task,
    ...(isOfAgent(context.agentType) ? {} : workspace.tasks.unreportedEnd(task)),
  })
  return {
    what: input.pattern === undefined ? taskEnd(id) : taskOutput(id, input.pattern),
    watch(met) {
      let isStopped = false
      const lines = pattern === undefined ? undefined : new LineSearch(pattern, workspace.redact, met)
      const unfollow = lines === undefined ? undefined : shell.output.follow((text) => lines.add(text))
      lines?.add(unshownOutput(task, context))
      void shell.ended.then(async () => {
        if (isStopped) return
        await lines?.flush()
        met(undefined)
      })
      return () => {
        isStopped = true
        unfollow?.()
        lines?.stop()
      }
    },
    met(line) {
      if (line !== undefined) return { ...resultWith('', outputCharacters), line: taskWrote(id, line) }
      return resultWith(taskState(id, stateOf(task), pattern !== undefined), shell.output.limit)
    },
    unmet: () => resultWith(taskState(id, stateOf(task), false), outputCharacters),
  }
}
