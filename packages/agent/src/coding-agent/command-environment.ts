import type { Environment } from '../tools/limits.ts'

/** What commands do not get of the environment. */
export interface CommandEnvironmentOptions {
  /** Names of variables that hold keys of models. */
  readonly keys: readonly string[]
  /** Those that a person passes on all the same. */
  readonly passed?: readonly string[]
}

/** The environment of commands: that of the program without the keys of models, but for those that a person passes on. */
export function commandEnvironment(env: Environment, { keys, passed = [] }: CommandEnvironmentOptions): Environment {
  // A trust for one run is not one for what its commands start elsewhere.
  const withheld = new Set([...keys.filter((name) => !passed.includes(name)), 'HALTING_TRUST_FOLDER'])
  return Object.fromEntries(Object.entries(env).filter(([name]) => !withheld.has(name)))
}
