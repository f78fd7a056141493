import type { StopCategory, EndingReason } from '../../src/index.ts'

/** The table of endings (spec R-END-1), frozen here: not read from src. */
export interface Row {
  readonly category: StopCategory
  readonly manner: 'graceful' | 'immediate' | 'preemptive'
  readonly toolResults: 'all' | 'partial' | 'synthetic' | 'none'
  readonly subtype: string
  readonly exitCode: number | null
}

const row = (
  category: StopCategory,
  manner: Row['manner'],
  toolResults: Row['toolResults'],
  subtype: string,
  exitCode: number | null,
): Row => ({
  category,
  manner,
  toolResults,
  subtype,
  exitCode,
})

const during = 'error_during_execution'

export const table: { readonly [reason in EndingReason]: Row } = {
  completed: row('completed', 'graceful', 'all', 'success', 0),
  finish_reason: row('finish_reason', 'graceful', 'all', 'success', 0),
  stop_requested: row('stop_requested', 'graceful', 'all', 'success', 0),
  max_turns: row('steps_limit', 'graceful', 'all', 'error_max_turns', 3),
  max_tool_calls: row('steps_limit', 'graceful', 'all', during, 3),
  max_budget_usd: row('cost_limit', 'immediate', 'partial', 'error_max_budget_usd', 3),
  token_limit: row('token_limit', 'graceful', 'all', during, 3),
  max_output_tokens: row('token_limit', 'graceful', 'none', during, 3),
  time_limit: row('time_limit', 'immediate', 'partial', during, 3),
  no_progress: row('no_progress', 'graceful', 'all', during, 3),
  compaction_thrash: row('no_progress', 'preemptive', 'none', during, 3),
  blocking_limit: row('token_limit', 'preemptive', 'none', during, 3),
  structured_output_retry_exhausted: row('retry_limit', 'graceful', 'all', 'error_max_structured_output_retries', 3),
  hook_stopped: row('stop_requested', 'graceful', 'all', 'success', 4),
  stop_hook_prevented: row('stop_requested', 'graceful', 'all', 'success', 4),
  goal_unmet: row('retry_limit', 'graceful', 'all', during, 6),
  stop_hook_unmet: row('retry_limit', 'graceful', 'all', during, 4),
  needs_approval: row('stop_requested', 'graceful', 'partial', during, 5),
  user_requested: row('user_requested', 'graceful', 'all', during, 130),
  aborted_streaming: row('user_requested', 'immediate', 'synthetic', during, 130),
  aborted_tools: row('user_requested', 'immediate', 'partial', during, 130),
  abandoned: row('user_requested', 'immediate', 'synthetic', during, null),
  prompt_too_long: row('error', 'immediate', 'none', during, 1),
  model_error: row('error', 'immediate', 'synthetic', during, 1),
  refusal: row('error', 'graceful', 'all', during, 1),
  no_answer: row('error', 'graceful', 'all', during, 1),
  image_error: row('error', 'immediate', 'none', during, 1),
  error: row('error', 'immediate', 'synthetic', during, 1),
}
