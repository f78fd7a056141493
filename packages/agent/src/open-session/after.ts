import type { SessionChoices } from './choices.ts'
import type { SessionPorts } from './ports.ts'
import { keepsMemory } from '../memory/places.ts'
import type { Settings } from '@halting/policy/settings'

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
