import { checkModel } from '@halting/agent/session-settings'
import type { Program } from '../program.ts'
import type { Flags } from './flags.ts'
import { settingsFor } from './session-ports.ts'

/** The error of the models package for a missing API key. */
export interface MissingKeyError extends Error {
  /** The variables that were searched. */
  readonly keyVariables: readonly string[]
}

export function isMissingKey(thrown: unknown): thrown is MissingKeyError {
  return thrown instanceof Error && 'keyVariables' in thrown && Array.isArray(thrown.keyVariables)
}

/** Checks only user settings. Settings of a project may name another key, and are read when a session is opened there. */
export async function findMissingKey(flags: Flags, program: Program): Promise<MissingKeyError | undefined> {
  try {
    checkModel(await settingsFor({ ...flags, settingSources: ['user'] }, program), program)
    return undefined
  } catch (thrown) {
    // Other problems are reported when a session is opened.
    return isMissingKey(thrown) ? thrown : undefined
  }
}
