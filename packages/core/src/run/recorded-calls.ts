import type { ToolUseBlock } from '../model/messages.ts'
import type { Run } from './run.ts'
import type { RecordedCall } from './tool-phase.ts'

/** The record of the calls of a message, looked at before any of it is taken; undefined when it holds none of them. */
export function recordedCalls(run: Run, calls: readonly ToolUseBlock[]): readonly RecordedCall[] | undefined {
  if (!run.ports.isResumed) return undefined
  const recorded = calls.map(({ id }, index): RecordedCall => {
    if (run.isRecorded(toolStepName(run, { id, index }))) return 'leaf'
    return run.isRecorded(`${agentName(run, { id, index })}model:1.1`) ? 'agent' : undefined
  })
  return recorded.some((each) => each !== undefined) ? recorded : undefined
}

export interface CallPlace {
  readonly id: string
  /** Place in the message. */
  readonly index: number
}

/** The step of a call: by its place in the message, since services use ids twice. */
export function toolStepName({ spent }: Run, { id, index }: CallPlace): string {
  return `tool:${spent.request}:${index}:${id}`
}

/** What the steps of a subagent are under. */
export function agentName({ spent }: Run, { id, index }: CallPlace): string {
  return `agent:${spent.request}:${index}:${id}/`
}
