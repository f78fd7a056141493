import type { StopReason } from '@agentclientprotocol/sdk'
import type { Terminal, TerminalReason } from '@halting/core'
import { stopOf, type SdkStop } from '@halting/core/adapters'
import { figuresOf } from '../headless/ending.ts'
import { authenticationRequired, internalError } from './errors.ts'
import { oneLine } from '../io/figures.ts'

// The only place that knows how an ending is told by the protocol.

/** `error`: the prompt is answered with an error. `cancelled`: where the client cancelled, else `end_turn`. */
type Told = StopReason | 'error'

/** How each ending is told (spec R-ACP-5). An ending without its row does not compile. */
export const stopReasons: { readonly [reason in TerminalReason]: Told } = {
  completed: 'end_turn',
  finish_reason: 'end_turn',
  stop_requested: 'end_turn',
  hook_stopped: 'end_turn',
  stop_hook_prevented: 'end_turn',
  max_turns: 'max_turn_requests',
  max_budget_usd: 'max_turn_requests',
  time_limit: 'max_turn_requests',
  no_progress: 'max_turn_requests',
  compaction_thrash: 'max_turn_requests',
  blocking_limit: 'max_turn_requests',
  structured_output_retry_exhausted: 'max_turn_requests',
  token_limit: 'max_tokens',
  max_output_tokens: 'max_tokens',
  refusal: 'refusal',
  user_requested: 'cancelled',
  aborted_streaming: 'cancelled',
  aborted_tools: 'cancelled',
  abandoned: 'cancelled',
  needs_approval: 'error',
  prompt_too_long: 'error',
  model_error: 'error',
  image_error: 'error',
  error: 'error',
}

/** What the answer to a prompt carries beside its stop reason. */
interface StopMeta {
  readonly 'halting/stop': Pick<SdkStop, 'reason' | 'category' | 'message' | 'context' | 'forced'>
  readonly [name: string]: unknown
}

/** How a prompt is answered. */
export type PromptAnswer =
  | { readonly kind: 'stop'; readonly stopReason: StopReason; readonly meta: StopMeta }
  | { readonly kind: 'error'; readonly code: number; readonly message: string; readonly data: object }

/** The answer to the prompt of a run that ended so. `isCancelled`: the client asked for it (spec R-ACP-6). */
export function answerFor(terminal: Terminal, isCancelled: boolean): PromptAnswer {
  const { reason, category, message, context, forced } = stopOf(terminal)
  const meta = { 'halting/stop': { reason, category, message, context, forced } }
  // The protocol wants `cancelled` after a cancel, whatever else went wrong meanwhile.
  if (isCancelled) return { kind: 'stop', stopReason: 'cancelled', meta }
  const told = stopReasons[terminal.reason]
  if (told === 'error') {
    const code = isWithoutKey(terminal) ? authenticationRequired : internalError
    return { kind: 'error', code, message: sentenceOf(terminal), data: { stop: meta['halting/stop'] } }
  }
  return { kind: 'stop', stopReason: told === 'cancelled' ? 'end_turn' : told, meta }
}

/** A service that refused the key, or had none to look at. */
function isWithoutKey({ reason, error }: Terminal): boolean {
  if (reason !== 'model_error' || error === undefined || !('kind' in error)) return false
  return error.kind === 'authentication_failed'
}

/** What to do next in an editor; '' for nothing. */
const nextInEditor: { readonly [reason in TerminalReason]: string } = {
  completed: '',
  finish_reason: '',
  stop_requested: '',
  max_turns:
    'Write what to do next, or /continue, to go on; "Most turns" in the options of the session raises the limit.',
  max_budget_usd: 'Raise "Budget" in the options of the session; then /continue goes on.',
  token_limit: 'Raise "Most tokens" in the options of the session; then /continue goes on.',
  max_output_tokens: 'Ask for a shorter answer, or for the rest of it.',
  time_limit:
    'Write what to do next, or /continue, to go on; "Most time" in the options of the session raises the limit.',
  no_progress: 'Say what to do when a call does not help.',
  compaction_thrash: 'Begin a new session, or choose a model with a larger window.',
  blocking_limit: 'Write /compact to make room.',
  structured_output_retry_exhausted: 'Make the schema simpler, or say what goes into it.',
  hook_stopped: 'A hook stopped the run: see what it says.',
  stop_hook_prevented: 'A stop hook ended the run: see what it says.',
  needs_approval: 'Nobody could be asked about the call.',
  user_requested: '',
  aborted_streaming: '',
  aborted_tools: '',
  abandoned: '',
  prompt_too_long: 'Split the task, or write /compact to make room.',
  model_error: 'Write /continue to try again, or choose another model in the options of the session.',
  refusal: 'The model declined: put the request in other words.',
  image_error: 'Take the image out, or make it smaller.',
  error: 'halting why tells more.',
}

/** One sentence on an ending, its figures, and what to do next: what a person sees in every editor. */
export function sentenceOf(terminal: Terminal): string {
  const message = oneLine(terminal.signal.message, 500).replace(/[.\s]+$/, '')
  const next = nextInEditor[terminal.reason]
  return `${terminal.reason}: ${message} (${figuresOf(terminal)}).${next === '' ? '' : ` ${next}`}`
}

export type Severity = 'info' | 'warning' | 'error'

/** How loudly an ending is told; undefined for one that speaks for itself. */
export function severityOf({ reason }: Terminal): Severity | undefined {
  if (reason === 'completed') return undefined
  const told = stopReasons[reason]
  if (told === 'error' || told === 'refusal') return 'error'
  return told === 'end_turn' || told === 'cancelled' ? 'info' : 'warning'
}
