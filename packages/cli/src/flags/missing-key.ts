import { checkModel } from '@halting/agent/session-settings'
import type { Program } from '../program.ts'
import type { Flags } from './flags.ts'
import { settingsFor } from './session-ports.ts'

/** No model can be made because a key is missing. */
export interface MissingKeyError extends Error {
  /** Where it is looked for. */
  readonly keyVariables: readonly string[]
}

export function isMissingKey(thrown: unknown): thrown is MissingKeyError {
  return thrown instanceof Error && 'keyVariables' in thrown && Array.isArray(thrown.keyVariables)
}

/** Settings of a project may name a key of their own: they are read when a session is opened there. */
export async function missingKeyOf(flags: Flags, program: Program): Promise<MissingKeyError | undefined> {
  try {
    checkModel(await settingsFor({ ...flags, settingSources: ['user'] }, program), program)
    return undefined
  } catch (thrown) {
    // Whatever else is wrong is reported where a session is opened.
    return isMissingKey(thrown) ? thrown : undefined
  }
}
