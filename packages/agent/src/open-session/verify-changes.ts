import type { Settings } from '@halting/policy/settings'
import type { SessionChoices } from './choices.ts'

/** What follows where an answer is given after a change that no check has passed after. */
export type VerifyChanges = NonNullable<SessionChoices['verifyChanges']>

// Spec R-VERI-21.
/**
 * As the choices say, then the settings, then the frontend. Where that says `off`, settings have no say: they are a person's, for sessions that a person sees.
 */
export function verifyChangesOf(
  { verifyChanges: chosen }: Pick<SessionChoices, 'verifyChanges'>,
  { verifyChanges: set }: Pick<Settings, 'verifyChanges'>,
  byDefault: VerifyChanges = 'tell',
): VerifyChanges {
  return chosen ?? (byDefault === 'off' ? 'off' : (set ?? byDefault))
}
export function verificationOf(mode: VerifyChanges, _toolbox: unknown): { mode: 'ask' | 'tell' } | undefined {
  return mode === 'off' ? undefined : { mode }
}
