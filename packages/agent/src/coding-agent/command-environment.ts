import type { Environment } from '../tools/limits.ts'

/** Variables that are withheld from commands. */
export interface CommandEnvironmentOptions {
  /** Names of variables that hold API keys of models. */
  readonly keys: readonly string[]
  /** Keys that the user passes to commands anyway. */
  readonly passed?: readonly string[]
}

/**
 * The environment of commands: that of the program without API keys of models, except those that the user passes on.
 */
export function commandEnvironment(env: Environment, { keys, passed = [] }: CommandEnvironmentOptions): Environment {
  // Trust for one run must not apply to programs that its commands start.
  const withheld = new Set([...keys.filter((name) => !passed.includes(name)), 'HALTING_TRUST_FOLDER'])
  return Object.fromEntries(Object.entries(env).filter(([name]) => !withheld.has(name)))
}
