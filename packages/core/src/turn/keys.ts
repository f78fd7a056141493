import type { RunState } from '../state.ts'
import type { StepKey } from '../steps/steps.ts'

/** A step's full name: stable within the session, whatever ids the service uses twice. */
export function keyOf(state: { readonly run: RunState['run'] }, name: string): StepKey {
  return `${state.run.runId}/${state.run.agentPath}${name}`
}

/** The step of a call: by its place in the message, since services use ids twice. */
export function toolStepName(state: Pick<RunState, 'spent'>, index: number, callId: string): string {
  return `tool:${state.spent.request}:${index}:${callId}`
}
