import type { PermissionMode } from '@halting/policy'

/** A permission mode in words for a person. */
export interface ModeWords {
  /** Within a line: `accept edits`. */
  readonly short: string
  readonly name: string
  /** '' for a mode that is not known. */
  readonly does: string
}

const words: { readonly [mode in PermissionMode]: ModeWords } = {
  default: {
    short: 'asks',
    name: 'Ask',
    does: 'Asks before it changes a file or runs a command that no rule allows',
  },
  acceptEdits: {
    short: 'accept edits',
    name: 'Accept edits',
    does: 'Changes files of the project without asking; asks before commands',
  },
  plan: { short: 'plan mode', name: 'Plan', does: 'Reads and plans; changes nothing before a plan is approved' },
  dontAsk: { short: 'asks nothing', name: "Don't ask", does: 'Never asks: what no rule allows is denied' },
  bypassPermissions: {
    short: 'bypass permissions',
    name: 'Bypass',
    does: 'Asks about nothing; deny rules hold. For a machine that can be thrown away',
  },
}

/** One that is not known is called by its name. */
export function modeWords(mode: string): ModeWords {
  // True: it is one of its keys.
  return Object.hasOwn(words, mode) ? words[mode as PermissionMode] : { short: mode, name: mode, does: '' }
}
