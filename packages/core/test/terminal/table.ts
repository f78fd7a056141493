import type { StopCategory, EndingReason } from '../../src/index.ts'

/** The table of endings (spec R-END-1), frozen here: not read from src. */
export interface Row {
  readonly category: StopCategory
  readonly manner: 'graceful' | 'immediate' | 'preemptive'
  readonly toolResults: 'all' | 'partial' | 'synthetic' | 'none'
  readonly subtype: string
  readonly exitCode: number | null
  readonly nextRound: 'begins' | 'unless_repeated' | 'never'
}

const row = (
  category: StopCategory,
  manner: Row['manner'],
  toolResults: Row['toolResults'],
  subtype: string,
  exitCode: number | null,
  nextRound: Row['nextRound'],
): Row => ({
  category,
  manner,
  toolResults,
  subtype,
  exitCode,
  nextRound,
})

const during = 'error_during_execution'

export const table: { readonly [reason in EndingReason]: Row } = {
  completed: row('completed', 'graceful', 'all', 'success', 0, 'begins'),
  finish_reason: row('finish_reason', 'graceful', 'all', 'success', 0, 'begins'),
  stop_requested: row('stop_requested', 'graceful', 'all', 'success', 0, 'begins'),
  max_turns: row('steps_limit', 'graceful', 'all', 'error_max_turns', 3, 'begins'),
  max_tool_calls: row('steps_limit', 'graceful', 'all', during, 3, 'begins'),
  max_budget_usd: row('cost_limit', 'immediate', 'partial', 'error_max_budget_usd', 3, 'begins'),
  token_limit: row('token_limit', 'graceful', 'all', during, 3, 'begins'),
  max_output_tokens: row('token_limit', 'graceful', 'none', during, 3, 'begins'),
  time_limit: row('time_limit', 'immediate', 'partial', during, 3, 'begins'),
  no_progress: row('no_progress', 'graceful', 'all', during, 3, 'unless_repeated'),
  compaction_thrash: row('no_progress', 'preemptive', 'none', during, 3, 'never'),
  blocking_limit: row('token_limit', 'preemptive', 'none', during, 3, 'never'),
  structured_output_retry_exhausted: row(
    'retry_limit',
    'graceful',
    'all',
    'error_max_structured_output_retries',
    3,
    'unless_repeated',
  ),
  hook_stopped: row('stop_requested', 'graceful', 'all', 'success', 4, 'never'),
  stop_hook_prevented: row('stop_requested', 'graceful', 'all', 'success', 4, 'never'),
  goal_unmet: row('retry_limit', 'graceful', 'all', during, 6, 'begins'),
  stop_hook_unmet: row('retry_limit', 'graceful', 'all', during, 4, 'unless_repeated'),
  needs_approval: row('stop_requested', 'graceful', 'partial', during, 5, 'never'),
  user_requested: row('user_requested', 'graceful', 'all', during, 130, 'never'),
  aborted_streaming: row('user_requested', 'immediate', 'synthetic', during, 130, 'never'),
  aborted_tools: row('user_requested', 'immediate', 'partial', during, 130, 'never'),
  abandoned: row('user_requested', 'immediate', 'synthetic', during, null, 'never'),
  prompt_too_long: row('error', 'immediate', 'none', during, 1, 'never'),
  model_error: row('error', 'immediate', 'synthetic', during, 1, 'unless_repeated'),
  refusal: row('error', 'graceful', 'all', during, 1, 'unless_repeated'),
  no_answer: row('error', 'graceful', 'all', during, 1, 'unless_repeated'),
  image_error: row('error', 'immediate', 'none', during, 1, 'unless_repeated'),
  error: row('error', 'immediate', 'synthetic', during, 1, 'unless_repeated'),
}
