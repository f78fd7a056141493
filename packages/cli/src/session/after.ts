import { keepsMemory } from '@halting/agent'
import type { Settings } from '@halting/policy/settings'
import type { Flags } from '../flags/flags.ts'
import type { Program } from '../program.ts'

/** What comes after a run, as flags and settings say; the flag goes first. It costs money or lines, so nothing is on by itself. */
export interface WantedAfter {
  readonly suggestion: boolean
  readonly hookSummary: boolean
  /** Notes are kept of it. */
  readonly notes: boolean
}

/** Undefined where nothing does. */
export function wantedAfter(
  { promptSuggestions, hookSummary }: Flags,
  settings: Settings,
  env: Program['env'],
): WantedAfter | undefined {
  const wanted = {
    suggestion: promptSuggestions ?? settings.promptSuggestionEnabled === true,
    hookSummary: hookSummary ?? settings.hookSummaryEnabled === true,
    notes: keepsMemory(settings, env),
  }
  return Object.values(wanted).includes(true) ? wanted : undefined
}
