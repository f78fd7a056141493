import type { SessionChoices } from './choices.ts'
import type { SessionPorts } from './ports.ts'
import { keepsMemory } from '../memory/places.ts'
import type { Settings } from '@halting/policy/settings'
import type { BackgroundOptions } from '../tools/background.ts'
import { countFrom } from './limits.ts'
import type { VerificationMode } from '../checks/verification.ts'

/** What comes after a run, as choices and settings say; the flag goes first. It costs money or lines, so nothing is on by itself. */
export interface WantedAfter {
  /** A model is asked what the person may say next. */
  readonly suggestion: boolean
  /** What the hooks of the run did is reported. */
  readonly hookSummary: boolean
  /** Notes are kept of it. */
  readonly notes: boolean
}

/** Undefined where nothing does. */
export function wantedAfter(
  { promptSuggestions, hookSummary }: SessionChoices,
  settings: Settings,
  env: SessionPorts['env'],
): WantedAfter | undefined {
  const wanted = {
    suggestion: promptSuggestions ?? settings.promptSuggestionEnabled === true,
    hookSummary: hookSummary ?? settings.hookSummaryEnabled === true,
    notes: keepsMemory(settings, env),
  }
  return Object.values(wanted).includes(true) ? wanted : undefined
}

/** What becomes of commands that still run when the run would end. The flag goes first, then the settings; where nobody is there, they are waited for. */
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
 * As the choices say, then the settings, then the frontend. Where that says `off`, settings have no say: they are a person's, for sessions that a person sees.
 */
export function verifyChangesOf(
  { verifyChanges: chosen }: Pick<SessionChoices, 'verifyChanges'>,
  { verifyChanges: set }: Pick<Settings, 'verifyChanges'>,
  byDefault: VerificationMode = 'tell',
): VerificationMode {
  return chosen ?? (byDefault === 'off' ? 'off' : (set ?? byDefault))
}
