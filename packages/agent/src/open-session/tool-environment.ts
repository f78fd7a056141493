import { commandEnvironment } from '../coding-agent/command-environment.ts'
import type { SessionPorts } from './ports.ts'
import { keyVariables } from '@halting/models'

/**
 * The environment of commands: that of the program without API keys of models and other hidden variables, except those
 * that the user passes on.
 */
export function toolEnvironment(
  env: SessionPorts['env'],
  hidden: readonly string[],
  passed: readonly string[] = [],
): SessionPorts['env'] {
  return commandEnvironment(env, { keys: [...keyVariables(), ...hidden], passed })
}
