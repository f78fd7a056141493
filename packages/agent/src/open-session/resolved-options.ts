import type { SessionChoices } from './choices.ts'
import type { SessionPorts } from './ports.ts'
import { isMemoryEnabled } from '../memory/places.ts'
import type { Settings } from '@halting/policy/settings'
import type { BackgroundOptions } from '../tools/background.ts'
import { countFrom } from './limits.ts'
import type { VerificationMode } from '../checks/verification.ts'

/** What happens after a run. Flags precede settings. Nothing is on by default, since it costs money or adds output. */
export interface WantedAfter {
  /** A model suggests what the user may say next. */
  readonly suggestion: boolean
  /** Statistics of the run's hooks are reported. */
  readonly hookSummary: boolean
  /** Notes are extracted. */
  readonly notes: boolean
}

/** Undefined if nothing is enabled. */
export function wantedAfter(
  { promptSuggestions, hookSummary }: SessionChoices,
  settings: Settings,
  env: SessionPorts['env'],
): WantedAfter | undefined {
  const enabled = {
    suggestion: promptSuggestions ?? settings.promptSuggestionEnabled === true,
    hookSummary: hookSummary ?? settings.hookSummaryEnabled === true,
    notes: isMemoryEnabled(settings, env),
  }
  return Object.values(enabled).includes(true) ? enabled : undefined
}

/**
 * What happens to commands that are still running when the run would end. Flags precede settings; by default a run
 * without a user waits for them.
 */
export function backgroundOptions(
  { background }: SessionChoices,
  settings: Settings,
  env: SessionPorts['env'],
  otherwise: NonNullable<BackgroundOptions['atEnd']> = 'wait',
): Pick<BackgroundOptions, 'atEnd' | 'waitMs'> {
  const waitMs = countFrom(env, 'HALTING_BACKGROUND_WAIT_MS', 1)
  return { atEnd: background ?? settings.background ?? otherwise, ...(waitMs !== undefined && { waitMs }) }
}

// Spec R-VERI-21.
/**
 * Returns the verification mode: the choice, then the setting, then the frontend's default. If that default is `off`,
 * the setting is ignored, because the setting is meant for sessions that a user observes.
 */
export function verifyChangesOf(
  { verifyChanges: chosen }: Pick<SessionChoices, 'verifyChanges'>,
  { verifyChanges: set }: Pick<Settings, 'verifyChanges'>,
  byDefault: VerificationMode = 'tell',
): VerificationMode {
  return chosen ?? (byDefault === 'off' ? 'off' : (set ?? byDefault))
}
