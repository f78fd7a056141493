import type { JsonObject } from '@halting/core'
import { explicitAutoAllow } from './sandbox-settings.ts'

/** What settings and a frontend say of commands that no rule covers, in `acceptEdits`. */
export interface EditsChoice {
  /** The setting `sandbox`, as each file gives it. */
  readonly sandbox?: readonly JsonObject[] | undefined
  /** Whether they run confined where no settings file says it. */
  readonly isDefault: boolean
}

/** Why such commands ask although they could be confined, as the end of a sentence; undefined where they run confined. */
export function whyEditsOff({ sandbox = [], isDefault }: EditsChoice): string | undefined {
  const said = explicitAutoAllow(sandbox)
  if (said === false) return 'sandbox.autoAllowBashIfSandboxed is false'
  if (said === true || isDefault) return undefined
  return 'the program that runs this session is asked, because no settings file of yours has sandbox.autoAllowBashIfSandboxed'
}
