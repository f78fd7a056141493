import type { BackgroundOptions } from '@halting/agent'
import type { Settings } from '@halting/policy/settings'
import type { Flags } from '../flags/flags.ts'
import type { Program } from '../program.ts'
import { countFrom } from './limits.ts'

/** What becomes of commands that still run when the run would end. The flag goes first, then the settings; where nobody is there, they are waited for. */
export function backgroundOptions(
  { background }: Flags,
  settings: Settings,
  env: Program['env'],
  otherwise: NonNullable<BackgroundOptions['atEnd']> = 'wait',
): Pick<BackgroundOptions, 'atEnd' | 'waitMs'> {
  const waitMs = countFrom(env, 'HALTING_BACKGROUND_WAIT_MS', 1)
  return { atEnd: background ?? settings.background ?? otherwise, ...(waitMs !== undefined && { waitMs }) }
}
