import { commandEnvironment } from '@halting/agent'
import { keyVariables } from '@halting/models'
import type { Program } from '../program.ts'

/** The environment of commands: that of the program without the keys of models, but for those that a person passes on. */
export function toolEnvironment(env: Program['env'], passed: readonly string[] = []): Program['env'] {
  return commandEnvironment(env, { keys: keyVariables(), passed })
}
