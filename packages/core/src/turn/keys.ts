import type { RunState } from '../state.ts'
import type { StepKey } from '../steps/steps.ts'

/** A step's full name: stable within the session, whatever ids the service uses twice. */
export function keyOf(state: { readonly run: RunState['run'] }, name: string): StepKey {
  return `${state.run.runId}/${state.run.agentPath}${name}`
}
