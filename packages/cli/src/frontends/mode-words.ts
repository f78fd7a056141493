import type { PermissionMode } from '@halting/policy'

/** A permission mode as text. */
export interface ModeWords {
  /** The text within a line: `accepts edits`. */
  readonly short: string
  readonly name: string
  /** A description of the mode; '' for an unknown mode. */
  readonly description: string
}

const modeTexts: { readonly [mode in PermissionMode]: ModeWords } = {
  default: {
    short: 'asks before changes',
    name: 'Ask',
    description: 'Asks before changes and commands that no rule allows',
  },
  acceptEdits: {
    short: 'accepts edits',
    name: 'Accept edits',
    description: 'Edits files without asking; commands run confined, or ask',
  },
  plan: {
    short: 'plans only',
    name: 'Plan',
    description: 'Explores and plans; changes nothing until you approve the plan',
  },
  dontAsk: { short: 'asks nothing', name: "Don't ask", description: 'Never asks: denies what no rule allows' },
  bypassPermissions: {
    short: 'bypasses permissions',
    name: 'Bypass',
    description: 'Never asks; obeys only deny rules. For disposable machines',
  },
}

/** The texts of a mode; an unknown mode is shown by its name. */
export function modeWords(mode: string): ModeWords {
  // This cast is safe: the mode is one of the keys.
  return Object.hasOwn(modeTexts, mode)
    ? modeTexts[mode as PermissionMode]
    : { short: mode, name: mode, description: '' }
}
