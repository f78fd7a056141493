// Mutations that the exploration must see: each takes away one allowance check or one synthetic result, or swaps two checks.
// Not here: the results for calls of a refusal, of a last answer and of a run that breaks. `conclude` closes open calls as well, so without them
// only the words change; tests hold those.
// [name, [file, what stands there, what stands there instead]...]
export const explored = [
  ['allowance: every route', ['decide.ts', '  if (!isPaid) return undefined\n', '']],
  ['allowance: continuation_requested', ['decide.ts', 'isSpeechless || isUsedUp', 'isSpeechless']],
  [
    'allowance: wrap_up',
    [
      'decide.ts',
      "run.spent.closing !== null || lapsLeft('wrap_up', run.spent.laps, run.context.limits) <= 0",
      'false',
    ],
  ],
  ['allowance: overridden twice', ['decide.ts', 'isFixed || isAgain ||', 'isFixed ||']],
  ['allowance: stop hook cap', ['turn/after-answer.ts', "      if (taken >= cap) return 'declined'\n", '']],
  [
    'allowance: broken reply resumed once',
    ['turn/recover.ts', "    if (run.spent.resumedBrokenReply) return 'declined'\n", ''],
  ],
  [
    'allowance: media removed only once',
    ['turn/recover.ts', "      if (!run.transcript.messages().some(holdsMedia)) return 'declined'\n", ''],
  ],
  [
    'allowance: network retries',
    [
      'turn/request/ask-model.ts',
      '!error.retryable || attempt > maxRetries',
      '!error.retryable || attempt > 2 * maxRetries',
    ],
  ],
  [
    'allowance: fallback',
    [
      'turn/request/ask-model.ts',
      'if (isOverloaded && asker.canFallBack &&',
      'if (isOverloaded && (asker.canFallBack || true) &&',
    ],
  ],
  ['allowance: subagents', ['turn/calls/prepare-call.ts', 'run.spent.subagents >= maxSubagents', 'maxSubagents < 0']],
  [
    'allowance: refill by any lap',
    [
      'allowance.ts',
      "(row.paidFrom === 'tokenTarget' && madeProgress)",
      "(row.paidFrom === 'tokenTarget' && madeProgress) || transition === 'stop_hook_blocking'",
    ],
  ],
  ['allowance: token gate', ['budget/token-target.ts', 'if (!diminishingReturns && turnTokens', 'if (turnTokens']],
  ...[
    'pause_turn',
    'stop_hook_blocking',
    'structured_output_retry',
    'max_output_tokens_recovery',
    'continuation_requested',
  ].map((name) => [
    `allowance: one more ${name}`,
    [
      'allowance.ts',
      new RegExp(`${name}: \\{ paidFrom: 'own', laps: (\\d+)`),
      (_all, laps) => `${name}: { paidFrom: 'own', laps: ${Number(laps) + 1}`,
    ],
  ]),
  [
    'result: aborted while streaming',
    [
      'turn/recover.ts',
      'return after(closeAbortedCalls(run, partial, cause, early), () => ends(draft))',
      'return ends(draft)',
    ],
  ],
  [
    'result: aborted after the reply',
    [
      'turn/after-reply.ts',
      "return after(closeAbortedCalls(run, message, cause, early), () => ends(abortDraft(run, cause, 'streaming')))",
      "return ends(abortDraft(run, cause, 'streaming'))",
    ],
  ],
  [
    'result: stopped after the reply',
    ['turn/after-reply.ts', /    closeNotRun\(run, calls, `the run stopped[^\n]*\n/, ''],
  ],
  ['result: calls after a stop', ['turn/calls/batch.ts', '  phase.setResult(index, result)\n', '']],
  [
    'result: what is still open at the end',
    ['open-calls.ts', 'return toolCallsOf(entry.message).filter(', 'return toolCallsOf({ content: [] }).filter('],
  ],
  ['result: approvals that never came', ['start.ts', '  else state = withCallsClosed(state)\n', '']],
  [
    'result: unknown outcome',
    ['turn/calls/run-call.ts', "onUnfinished: reruns ? 'rerun' : () => unknownOutcome", "onUnfinished: 'rerun'"],
  ],
  [
    'result: no tool after an abort',
    [
      'turn/calls/execute-call.ts',
      "  if (abort.cause !== undefined) return abortedResult(abort.cause, 'settled')\n  const",
      '  const',
    ],
  ],
  [
    'result: unknown tool',
    [
      'turn/calls/inspect-call.ts',
      'if (tool === undefined) return {',
      'if (tool === undefined) throw new Error(call.name)\n  if (tool === undefined) return {',
    ],
  ],
  [
    'order: guards before the inbox',
    ['turn/prepare.ts', '[control, loweredLimits, standing, steering,', '[control, loweredLimits, steering, standing,'],
  ],
  [
    'order: drain before reactive',
    [
      'turn/recover.ts',
      "  roomRoute('collapse_drain_retry', 'drain'),\n  roomRoute('reactive_compact_retry', 'compact'),\n",
      "  roomRoute('reactive_compact_retry', 'compact'),\n  roomRoute('collapse_drain_retry', 'drain'),\n",
    ],
  ],
  ['order: escalate before resume', ['turn/recover.ts', '[escalate, resume]', '[resume, escalate]']],
  [
    'order: cost before standing signals',
    [
      'turn/after-reply.ts',
      '(overBudgetDraft(run) ?? overTokensDraft(run) ?? loweredTimeDraft(run) ?? standingAfter(run, raisedBy))',
      '(standingAfter(run, raisedBy) ?? overBudgetDraft(run) ?? overTokensDraft(run) ?? loweredTimeDraft(run))',
    ],
  ],
  [
    'order: abort before signals after the reply',
    [
      'turn/after-reply.ts',
      'abort === undefined ? goOnWith',
      'abort === undefined || standing(run) !== undefined ? goOnWith',
    ],
  ],
  [
    'order: finish reason before follow-ups',
    ['turn/after-answer.ts', '[finishReason, followUps,', '[followUps, finishReason,'],
  ],
  [
    'order: follow-ups before the output schema',
    ['turn/after-answer.ts', 'followUps, structuredOutput,', 'structuredOutput, followUps,'],
  ],
  [
    'order: output schema before stop hooks',
    ['turn/after-answer.ts', 'structuredOutput, stopHooks,', 'stopHooks, structuredOutput,'],
  ],
  [
    'order: block before prevent',
    [
      'turn/after-answer.ts',
      'if (wishes.blocks.length > 0) return',
      'if (wishes.blocks.length > 0 && wishes.prevented === undefined) return',
    ],
  ],
  [
    'order: stop hooks before the token target',
    ['turn/after-answer.ts', 'stopHooks, tokenTarget]', 'tokenTarget, stopHooks]'],
  ],
  [
    'order: abort before a thrown stop',
    [
      'turn/after-tools.ts',
      'if (abort !== undefined) return',
      'if (abort !== undefined && phase.stops.length === 0) return',
    ],
  ],
  [
    'order: a thrown stop before hook_stopped',
    [
      'turn/after-tools.ts',
      /(  const thrown = [^\n]*\n  if \(thrown[^\n]*\n)(  if \(stops\[0\][^\n]*\n)/,
      (_all, thrown, stopped) => stopped + thrown,
    ],
  ],
  [
    'order: hook_stopped before needs_approval',
    [
      'turn/after-tools.ts',
      '  if (stops[0] !== undefined) return hookStopDraft(stops[0])\n',
      '  if (pending.length > 0) return approvalDraft(pending)\n  if (stops[0] !== undefined) return hookStopDraft(stops[0])\n',
    ],
  ],
  [
    'order: needs_approval before guards',
    [
      'turn/after-tools.ts',
      'stopDraft(phase) ?? standing(run, raisedBy)',
      '(phase.stops.length > 0 ? stopDraft(phase) : undefined) ?? standing(run, raisedBy) ?? stopDraft(phase)',
    ],
  ],
  [
    'order: guards before max turns',
    ['turn/after-tools.ts', 'stopDraft(phase) ?? standing(run, raisedBy)', 'stopDraft(phase)'],
  ],
  ['order: context before the request', ['turn/prepare.ts', 'inference, defendContext]', 'inference]']],
].map(([name, ...changes]) => ({ name: String(name), changes }))
