import { keyVariables } from '@halting/models'
import type { Program } from '../program.ts'

/** The environment of commands: that of the program without the keys of models, but for those that a person passes on. */
export function toolEnvironment(env: Program['env'], passed: readonly string[] = []): Program['env'] {
  // A trust for one run is not one for what its commands start elsewhere.
  const withheld = new Set([...keyVariables().filter((name) => !passed.includes(name)), 'HALTING_TRUST_FOLDER'])
  return Object.fromEntries(Object.entries(env).filter(([name]) => !withheld.has(name)))
}
