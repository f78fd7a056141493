import { endings, type Terminal, type TerminalReason } from '@halting/core'
import type { Flags } from '../flags/flags.ts'
import { elapsed, many, money, moneyAtMost, oneLine, tokensCounted } from '../io/figures.ts'
import { letItCompact, moreRoom } from './context-advice.ts'
import { limitAdvice } from './limit-advice.ts'

type Advice = string | ((flags: Flags) => string)

const orWrapUp =
  (raise: string): Advice =>
  ({ wrapUp }) =>
    wrapUp === true ? `${raise}.` : `${raise}, or add --wrap-up for a last answer.`

/** The one thing to do next after an ending that is no success (spec R-TEXT-5). */
const advice: { readonly [reason in TerminalReason]: Advice } = {
  completed: '',
  finish_reason: '',
  stop_requested: '',
  max_turns: orWrapUp('Raise --max-turns'),
  max_budget_usd: orWrapUp('Raise --max-budget-usd'),
  token_limit: orWrapUp('Raise --max-tokens'),
  max_output_tokens: 'Ask for a shorter answer, or for the rest of it.',
  time_limit: 'Raise --max-duration.',
  no_progress: 'Say in the prompt what to do when a call does not help.',
  compaction_thrash: moreRoom,
  blocking_limit: letItCompact,
  structured_output_retry_exhausted: 'Make the schema simpler, or say in the prompt what goes into it.',
  hook_stopped: 'A hook stopped the run: see what it says.',
  stop_hook_prevented: 'A stop hook ended the run: see what it says.',
  needs_approval: 'Approve or deny the call, and resume the session.',
  user_requested: '',
  aborted_streaming: '',
  aborted_tools: '',
  abandoned: '',
  prompt_too_long: (flags) =>
    flags.autocompact === 'off' ? letItCompact(flags) : 'Split the task, or read less at once.',
  model_error: anotherModel,
  refusal: 'The model declined: put the request in other words.',
  image_error: 'Take the image out, or make it smaller.',
  error: ({ errorPolicy }) =>
    errorPolicy === undefined
      ? 'See what failed above; --error-policy says whose errors end a run.'
      : 'See what failed above; the error policy has it end the run.',
}

function anotherModel({ model, fallbackModel }: Flags): string {
  const flags = [
    ...(model === undefined ? ['--model'] : []),
    ...(fallbackModel === undefined ? ['--fallback-model'] : []),
  ]
  return flags.length === 0 ? 'Run it again.' : `Run it again, or name another model with ${flags.join(' or ')}.`
}

/** Which variables hold the key and the address depends on the service: its messages and `halting doctor` name them. */
const modelAdvice: Readonly<Record<string, string>> = {
  authentication_failed: 'Check the key; halting doctor tells where it comes from.',
  billing_error: 'Look at the billing of your account.',
  model_not_found: 'Check the name of the model, and the base URL; halting doctor tells what the service has.',
  connection: 'halting doctor looks at the proxy, the key and the way to the service.',
  invalid_request: 'Check the name of the model, the base URL, and what the message says.',
}

/** The exit code of a run: the table of endings, unless a signal ended it. */
export function exitCodeOf(terminal: Terminal, interrupted: number | undefined): number {
  const { category, exitCode } = endings[terminal.reason]
  if (interrupted !== undefined && category === 'user_requested') return interrupted
  return exitCode ?? 1
}

/** What a line about an ending takes into account. */
export interface EndingContext {
  readonly flags: Flags
  /** Which files were changed; '' for none. */
  readonly changes: string
  /** The kind of the model's failure, when there was one. */
  readonly errorKind: string | undefined
}

/** One line about an ending that is no success: reason, message, figures, what to do next. */
export function endingLine(terminal: Terminal, { flags, changes, errorKind }: EndingContext): string {
  const next = adviceFor(terminal, flags, errorKind)
  const message = oneLine(terminal.signal.message, 300).replace(/[.\s]+$/, '')
  const figures = [figuresOf(terminal), ...(changes === '' ? [] : [changes])].join(', ')
  return `${terminal.reason}: ${message} (${figures}).${next === '' ? '' : ` ${next}`}`
}

/** What to do next after an ending that is no success; '' for nothing. */
export function adviceFor(terminal: Terminal, flags: Flags, errorKind: string | undefined): string {
  const ofModel = terminal.reason === 'model_error' ? modelAdvice[errorKind ?? ''] : undefined
  const given = ofModel ?? limitAdvice(terminal, flags) ?? advice[terminal.reason]
  return typeof given === 'string' ? given : given(flags)
}

/** One line about a success: `✓ done · 3 turns, 1,234 tokens, $0.0123, 4.5 s · 1 file changed +3 −1`. */
export function closingLine(terminal: Terminal, changes: string): string {
  const name = terminal.reason === 'completed' ? 'done' : terminal.reason
  const parts = [figuresOf(terminal), ...(changes === '' ? [] : [changes])]
  return `✓ ${name} · ${parts.join(' · ')}`
}

/**
 * `3 turns, 1,234 tokens, $0.0123, 4.5 s`; without the cost where there was none, or no price. `up to $0.0456` is what
 * it may come to with requests of which nobody said what they cost: aborted ones, lost ones.
 */
export function figuresOf(terminal: Terminal): string {
  const { summary, costUsd, committedUsd, durationMs } = terminal
  return [
    many(summary.turns, 'turn'),
    tokensCounted(terminal),
    ...(costUsd > 0 ? [money(costUsd)] : []),
    ...(committedUsd > costUsd ? [`up to ${moneyAtMost(committedUsd)}`] : []),
    elapsed(durationMs),
  ].join(', ')
}

export function tokensOf(usage: Terminal['summary']['usage']): { readonly input: number; readonly output: number } {
  const { input_tokens, cache_read_input_tokens, cache_creation_input_tokens, output_tokens } = usage
  return { input: input_tokens + cache_read_input_tokens + cache_creation_input_tokens, output: output_tokens }
}
