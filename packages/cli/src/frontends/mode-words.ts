import type { PermissionMode } from '@halting/policy'

/** A permission mode in words for a person. */
export interface ModeWords {
  /** Within a line: `accepts edits`. */
  readonly short: string
  readonly name: string
  /** '' for a mode that is not known. */
  readonly does: string
}

const words: { readonly [mode in PermissionMode]: ModeWords } = {
  default: {
    short: 'asks before changes',
    name: 'Ask',
    does: 'Asks before changes and commands that no rule allows',
  },
  acceptEdits: {
    short: 'accepts edits',
    name: 'Accept edits',
    does: 'Edits files without asking; commands run confined, or ask',
  },
  plan: { short: 'plans only', name: 'Plan', does: 'Explores and plans; changes nothing until you approve the plan' },
  dontAsk: { short: 'asks nothing', name: "Don't ask", does: 'Never asks: denies what no rule allows' },
  bypassPermissions: {
    short: 'bypasses permissions',
    name: 'Bypass',
    does: 'Never asks; obeys only deny rules. For disposable machines',
  },
}

/** One that is not known is called by its name. */
export function modeWords(mode: string): ModeWords {
  // True: it is one of its keys.
  return Object.hasOwn(words, mode) ? words[mode as PermissionMode] : { short: mode, name: mode, does: '' }
}
