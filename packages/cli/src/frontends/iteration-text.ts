import type { IterationReason } from '@halting/core'

/** Why the loop continues, as text; undefined for a normal next turn. */
const textOfReason: { readonly [transition in IterationReason]: string | undefined } = {
  next_turn: undefined,
  user_input: undefined,
  continuation_requested: 'continuing: a hook allowed it',
  stop_hook_blocking: 'rejected by stop hook',
  // The line of the check reports this reason.
  goal_unmet: undefined,
  unverified_change: 'asked the model to verify its last change',
  token_budget_continuation: 'continuing towards the token target',
  structured_output_retry: 'retrying: the answer does not match the schema',
  pause_turn: 'continuing after a pause of the service',
  max_output_tokens_recovery: 'resuming a truncated reply',
  max_output_tokens_escalate: 'retrying with a higher output limit',
  model_fallback: 'switching to the fallback model',
  media_recovery: 'retrying without images',
  reactive_compact_retry: 'compacted, retrying',
  collapse_drain_retry: 'replaced finished work by summaries, retrying',
  no_progress_nudge: 'reminded the model that it is repeating itself',
  wrap_up: 'asking for a final answer',
  limit_raised: undefined,
}

/** The text for a reason to continue; undefined for a normal next turn. An unknown name is returned with spaces. */
export function iterationText(transition: string): string | undefined {
  // This cast is safe: the text is one of the keys.
  return Object.hasOwn(textOfReason, transition)
    ? textOfReason[transition as IterationReason]
    : transition.replaceAll('_', ' ')
}

/** Reasons that a live run does not report, with their text for a finished run. */
const silentIterations: { readonly [transition: string]: string } = {
  next_turn: 'next turn',
  user_input: 'continued with a queued message',
  goal_unmet: 'sent the answer back: the goal is not met',
  limit_raised: 'continued after a limit was raised',
}

/** The text for any reason to continue, for a finished run. */
export function recordedIterationText(transition: string): string {
  const silent = Object.hasOwn(silentIterations, transition) ? silentIterations[transition] : undefined
  return silent ?? iterationText(transition) ?? transition.replaceAll('_', ' ')
}
