import { streamRun } from './iterate.ts'
import type { PromptOptions } from './prompt-options.ts'
import type { RunOutcome } from './run-outcome.ts'

/**
 * Runs a prompt to its end. Whatever happens in the run is in the outcome: `reason` says how it ended, `output` has the answer.
 * The model is reminded once where it repeats itself (`noProgress`).
 * @throws ConfigurationError alone, for options that cannot be run: the promise rejects with it before anything starts.
 */
export async function run<Output = string>(options: PromptOptions<Output>): Promise<RunOutcome<Output>> {
  // What is no object is refused by name.
  const isObject = typeof options === 'object' && options !== null
  return streamRun(isObject ? { ...options, noProgress: options.noProgress ?? 'remind' } : options).result
}
