import type { IterationReason } from '@halting/core'

/** Why the loop went round again; undefined for a plain next turn, of which there is nothing to tell. */
const lapTexts: { readonly [transition in IterationReason]: string | undefined } = {
  next_turn: undefined,
  user_input: undefined,
  continuation_requested: 'a hook let it continue',
  stop_hook_blocking: 'stop hook sent it back',
  // The line of the check says it.
  goal_unmet: undefined,
  token_budget_continuation: 'going on, for the token target',
  structured_output_retry: 'the answer does not fit the schema',
  pause_turn: 'the service paused, going on',
  max_output_tokens_recovery: 'resuming a cut reply',
  max_output_tokens_escalate: 'asking again with more room for the reply',
  model_fallback: 'going on with the fallback model',
  media_recovery: 'asking again without images',
  reactive_compact_retry: 'compacted, asking again',
  collapse_drain_retry: 'summaries put in, asking again',
  no_progress_nudge: 'told that it makes no progress',
  wrap_up: 'asking for a last answer',
  limit_raised: undefined,
}

/** What a lap is, in words; undefined for a next turn. A name that is not known stays as it is. */
export function lapText(transition: string): string | undefined {
  // True: it is one of its keys.
  return Object.hasOwn(lapTexts, transition) ? lapTexts[transition as IterationReason] : transition.replaceAll('_', ' ')
}
