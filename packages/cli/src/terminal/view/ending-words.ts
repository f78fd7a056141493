import type { Terminal, TerminalReason } from '@halting/core'
import { counted, stopwatch } from '../../io/figures.ts'
import { dollars, dollarsAtMost } from '../../io/dollars.ts'

/** How an ending is told: in a sentence, and with the figures of what it is about. */
interface EndingWords {
  /** Without a mark at its end. */
  readonly says: string
  /** The figures of the limit, or what a hook, a tool or the model said; '' for nothing. */
  readonly tells: (terminal: Terminal) => string
}

const nothing = (): string => ''
/** What the signal says. It is not said again where the sentence says the same. */
const message = ({ signal }: Terminal): string => signal.message
const ofContext = ({ signal }: Terminal, name: string): number | undefined => {
  const value = signal.context[name]
  return typeof value === 'number' ? value : undefined
}

/** `40 of 40 turns`; what the signal says where it has no figures: a hook or a tool may raise any reason. */
function usedOf(unit: (value: number) => string): (terminal: Terminal) => string {
  return (terminal) => {
    const [used, limit] = [ofContext(terminal, 'used'), ofContext(terminal, 'limit')]
    return used === undefined || limit === undefined ? message(terminal) : `${unit(used)} of ${unit(limit)}`
  }
}

/** What the next request would have cost, where that is what did not fit. */
function needed(terminal: Terminal, name: string, text: (value: number) => string): string {
  const value = ofContext(terminal, name)
  return value === undefined ? '' : `, the next request could ${text(value)}`
}

/** Every ending in words for a person (spec R-TERM-25). */
const endingWords: { readonly [reason in TerminalReason]: EndingWords } = {
  completed: { says: 'done', tells: nothing },
  finish_reason: { says: 'done, as a guard asked', tells: message },
  stop_requested: { says: 'a hook, a guard or a tool ended it', tells: message },
  max_turns: {
    says: 'the turn limit is reached',
    tells: (terminal) => usedOf(counted)(terminal) + unitWord(terminal, 'turn'),
  },
  max_budget_usd: {
    says: 'the dollar budget is used up',
    tells: (terminal) =>
      usedOf(dollars)(terminal) + needed(terminal, 'neededUsd', (usd) => `cost ${dollarsAtMost(usd)}`),
  },
  token_limit: {
    says: 'the token limit is reached',
    tells: (terminal) =>
      usedOf(counted)(terminal) +
      unitWord(terminal, 'token') +
      needed(terminal, 'needed', (tokens) => `need ${counted(tokens)}`),
  },
  max_output_tokens: { says: 'the reply was cut at its longest, again and again', tells: nothing },
  time_limit: { says: 'the time is up', tells: usedOf(stopwatch) },
  no_progress: { says: 'it made no progress', tells: (terminal) => message(terminal).replace(/^No progress: /, '') },
  compaction_thrash: { says: 'no room can be made', tells: message },
  blocking_limit: {
    says: 'the context window is full',
    tells: (terminal) => usedOf(counted)(terminal) + unitWord(terminal, 'token'),
  },
  structured_output_retry_exhausted: { says: 'no answer fits the schema', tells: message },
  hook_stopped: { says: 'a hook stopped it after a tool', tells: message },
  stop_hook_prevented: { says: 'a stop hook ended it', tells: message },
  needs_approval: { says: 'a call waits for a yes or a no', tells: message },
  user_requested: {
    says: 'you asked it to stop',
    tells: (terminal) => message(terminal).replace(/^Stop requested by user$/, ''),
  },
  aborted_streaming: { says: 'interrupted while the model wrote', tells: message },
  aborted_tools: { says: 'interrupted while tools ran', tells: message },
  abandoned: { says: 'nobody listened any more', tells: nothing },
  prompt_too_long: { says: 'the conversation is too long for the model', tells: message },
  model_error: { says: 'the model could not be asked', tells: message },
  refusal: { says: 'the model declined', tells: nothing },
  image_error: { says: 'an image or a document was refused', tells: message },
  error: { says: 'something failed', tells: message },
}

/** The word behind the figures of a limit. Where the signal has none, it says them in its own words. */
function unitWord(terminal: Terminal, unit: string): string {
  if (ofContext(terminal, 'used') === undefined) return ''
  return ofContext(terminal, 'limit') === 1 ? ` ${unit}` : ` ${unit}s`
}

/** `Stopped: the dollar budget is used up. $0.97 of $1.00, the next request could cost $0.08.` */
export function endingSentence(terminal: Terminal): string {
  const { says, tells } = endingWords[terminal.reason]
  const told = tells(terminal)
    .trim()
    .replace(/[.\s]+$/, '')
  return `Stopped: ${says}.${told === '' ? '' : ` ${told}.`}`
}
