import type { Settings } from '@halting/policy/settings'
import type { VerificationMode } from '../checks/verification.ts'
import type { SessionChoices } from './choices.ts'

// Spec R-VERI-21.
/**
 * As the choices say, then the settings, then the frontend. Where that says `off`, settings have no say: they are a person's, for sessions that a person sees.
 */
export function verifyChangesOf(
  { verifyChanges: chosen }: Pick<SessionChoices, 'verifyChanges'>,
  { verifyChanges: set }: Pick<Settings, 'verifyChanges'>,
  byDefault: VerificationMode = 'tell',
): VerificationMode {
  return chosen ?? (byDefault === 'off' ? 'off' : (set ?? byDefault))
}
