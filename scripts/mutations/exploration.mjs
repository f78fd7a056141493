// Mutations that the exploration must see: each takes away one allowance check or one synthetic result, or swaps two checks.
// Not here: the results for calls of a refusal, of a last answer and of a run that breaks. `conclude` closes open calls as well, so without them
// only the words change; tests hold those.
// [name, minimum number of scenarios that detect it, [file, text in it, replacement]...]
export const explored = [
  [
    'verification: an answer that stands falls at a limit',
    ['a change that nobody checked, on a small budget'],
    [
      'loop/decide.ts',
      'const effectiveEnding = withUnverifiedAnswer(run, pendingEnding)',
      'const effectiveEnding = pendingEnding',
    ],
  ],
  [
    'verification: asked while a plan is made',
    ['a change that nobody checked, plans and goals that are set'],
    [
      'loop/verify.ts',
      'if (permissions.isPlanning?.(settings.permissionMode ?? undefined) === true) return false\n',
      '',
    ],
  ],
  [
    'allowance: every route',
    ['for ever: an answer that does not fit'],
    ['loop/decide.ts', '  if (!hasRetryLeft) return undefined\n', ''],
  ],
  [
    'allowance: continuation_requested',
    ['for ever: a hook that goes on'],
    ['loop/decide.ts', 'lacksNewMessage || isUsedUp', 'lacksNewMessage'],
  ],
  [
    'allowance: wrap_up',
    ['for ever: the same call, seen, with a last answer'],
    [
      'loop/decide.ts',
      "run.spent.closing !== null || iterationsLeft('wrap_up', run.spent.laps, run.context.limits) <= 0",
      'false',
    ],
  ],
  [
    'allowance: overridden twice',
    ['for ever: a hook that goes on past the last turn'],
    ['loop/decide.ts', 'hasFixedSignal || wasOverridden ||', 'hasFixedSignal ||'],
  ],
  [
    'allowance: stop hook cap',
    ['for ever: a stop hook with a cap'],
    ['loop/after-answer.ts', "      if (taken >= cap) return 'declined'\n", ''],
  ],
  [
    'allowance: broken reply resumed once',
    ['for ever: broken off'],
    ['loop/recover.ts', "    if (run.spent.resumedBrokenReply) return 'declined'\n", ''],
  ],
  [
    'allowance: media removed only once',
    ['every reply on a small budget'],
    ['loop/recover.ts', "      if (!run.transcript.messages().some(containsMedia)) return 'declined'\n", ''],
  ],
  [
    'allowance: subagents',
    ['for ever: subagents'],
    ['tool-calls/child-run.ts', 'spent.subagents < maxSubagents', 'maxSubagents >= 0'],
  ],
  [
    'allowance: refill by any lap',
    ['for ever: a stop hook with a cap'],
    [
      'limits/transition-rules.ts',
      "(row.chargedTo === 'tokenTarget' && madeProgress)",
      "(row.chargedTo === 'tokenTarget' && madeProgress) || transition === 'stop_hook_blocking'",
    ],
  ],
  [
    'allowance: token gate',
    ['for ever: a token target'],
    ['limits/token-target.ts', 'if (!diminishingReturns && turnTokens', 'if (turnTokens'],
  ],
  ...[
    ['pause_turn', 'for ever: paused'],
    ['structured_output_retry', 'for ever: an answer that does not fit'],
    ['max_output_tokens_recovery', 'for ever: cut'],
    ['continuation_requested', 'for ever: a hook that goes on'],
  ].map(([name, scenario]) => [
    `allowance: one more ${name}`,
    [scenario],
    [
      'limits/transition-rules.ts',
      new RegExp(`${name}: \\{ chargedTo: 'own', iterations: (\\d+)`),
      (_all, iterations) => `${name}: { chargedTo: 'own', iterations: ${Number(iterations) + 1}`,
    ],
  ]),
  [
    'result: aborted while streaming',
    ['an abort beside a stop'],
    [
      'loop/recover.ts',
      'return andThen(closeAbortedCalls(run, partial, cause, early), () => endWith(pendingEnding))',
      'return endWith(pendingEnding)',
    ],
  ],
  [
    'result: aborted after the reply',
    ['an abort beside a stop'],
    [
      'loop/after-reply.ts',
      "return andThen(closeAbortedCalls(run, message, cause, early), () => endWith(abortEnding(run, cause, 'streaming')))",
      "return endWith(abortEnding(run, cause, 'streaming'))",
    ],
  ],
  [
    'result: what is still open at the end',
    ['a hook that prevents beside a call that waits'],
    [
      'conversation/open-calls.ts',
      'return toolCallsOf(entry.message).filter(',
      'return toolCallsOf({ content: [] }).filter(',
    ],
  ],
  [
    'result: approvals that never came',
    ['a hook that prevents beside a call that waits'],
    ['api/start.ts', '  else state = withCallsClosed(state)\n', ''],
  ],
  [
    'result: unknown outcome',
    ['for ever: broken calls'],
    ['tool-calls/run-call.ts', "onUnfinished: reruns ? 'rerun' : () => unknownOutcome", "onUnfinished: 'rerun'"],
  ],
  [
    'result: no tool after an abort',
    ['leaving early'],
    ['tool-calls/run-call.ts', "  if (cause !== undefined) return abortedResult(cause, 'settled')\n  const", '  const'],
  ],
  [
    'result: unknown tool',
    ['every reply on a small budget'],
    [
      'tool-calls/inspect-call.ts',
      'if (tool === undefined)\n    return {',
      'if (tool === undefined) throw new Error(call.name)\n  if (tool === undefined)\n    return {',
    ],
  ],
  [
    'order: drain before reactive',
    ['guards before a recovery'],
    [
      'loop/recover.ts',
      'const contextRoutes: readonly Route[] = [\n  contextRoute(',
      "const contextRoutes: readonly Route[] = [\n  contextRoute('reactive_compact_retry', 'reactive', ({ context }, view) =>\n    context.contextDefence.compact(view, 'reactive'),\n  ),\n  contextRoute(",
    ],
  ],
  [
    'order: escalate before resume',
    ['guards before a recovery'],
    ['loop/recover.ts', '[escalate, resume]', '[resume, escalate]'],
  ],
  [
    'order: cost before standing signals',
    ['a budget met and a stop at once'],
    [
      'loop/after-reply.ts',
      '(budgetReachedEnding(run) ??\n        tokensExceededEnding(run) ??\n        loweredTimeEnding(run) ??\n        raisedSignalEnding(run, raisedBy))',
      '(raisedSignalEnding(run, raisedBy) ?? budgetReachedEnding(run) ?? tokensExceededEnding(run) ?? loweredTimeEnding(run))',
    ],
  ],
  [
    'order: abort before signals after the reply',
    ['an abort beside a stop'],
    [
      'loop/after-reply.ts',
      'abort === undefined\n        ? continueAfterReply',
      'abort === undefined || run.signals.hasAny() ? continueAfterReply',
    ],
  ],
  [
    'order: finish reason before follow-ups',
    ['all that settles a run'],
    ['loop/after-answer.ts', '  finishReason,\n  followUps,\n', '  followUps,\n  finishReason,\n'],
  ],
  [
    'order: follow-ups before the output schema',
    ['all that settles a run'],
    ['loop/after-answer.ts', '  followUps,\n  structuredOutput,\n', '  structuredOutput,\n  followUps,\n'],
  ],
  [
    'order: output schema before stop hooks',
    ['all that settles a run'],
    ['loop/after-answer.ts', '  structuredOutput,\n  stopHooks,\n', '  stopHooks,\n  structuredOutput,\n'],
  ],
  [
    'order: block before prevent',
    ['stop hooks'],
    [
      'loop/after-answer.ts',
      'if (hookRequests.blocks.length > 0) return',
      'if (hookRequests.blocks.length > 0 && hookRequests.prevented === undefined) return',
    ],
  ],
  [
    'order: stop hooks before the token target',
    ['stop hooks and a token target'],
    [
      'loop/after-answer.ts',
      '  stopHooks,\n  goalAtAnswer,\n  tokenTarget,\n',
      '  tokenTarget,\n  stopHooks,\n  goalAtAnswer,\n',
    ],
  ],
  [
    'order: abort before a thrown stop',
    ['leaving early'],
    [
      'loop/after-tools.ts',
      'if (abort !== undefined) return',
      'if (abort !== undefined && phase.stops.length === 0) return',
    ],
  ],
  [
    'order: a thrown stop before hook_stopped',
    ['a tool that stops beside a hook that prevents'],
    [
      'loop/after-tools.ts',
      /(  const thrown = [^\n]*\n  if \(thrown[^\n]*\n)(  if \(stops\[0\][^\n]*\n)/,
      (_all, thrown, stopped) => stopped + thrown,
    ],
  ],
  [
    'order: hook_stopped before needs_approval',
    ['a hook that prevents beside a call that waits'],
    [
      'loop/after-tools.ts',
      '  if (stops[0] !== undefined) return hookStopEnding(stops[0])\n',
      '  if (pending.length > 0) return approvalEnding(pending, calls)\n  if (stops[0] !== undefined) return hookStopEnding(stops[0])\n',
    ],
  ],
  [
    'order: needs_approval before guards',
    ['all that follows the tools'],
    [
      'loop/after-tools.ts',
      'raisedStopEnding(phase) ??\n        raisedSignalEnding(run, raisedBy)',
      '(phase.stops.length > 0 ? raisedStopEnding(phase) : undefined) ?? raisedSignalEnding(run, raisedBy) ?? raisedStopEnding(phase)',
    ],
  ],
  [
    'order: guards before max turns',
    ['all that follows the tools'],
    [
      'loop/after-tools.ts',
      'raisedStopEnding(phase) ??\n        raisedSignalEnding(run, raisedBy)',
      'raisedStopEnding(phase)',
    ],
  ],
  [
    'order: context before the request',
    ['for ever: over the blocking limit'],
    ['loop/prepare.ts', '  defendContext,\n  stageCollapse,\n]', '  stageCollapse,\n]'],
  ],
  [
    'limits: a call beyond the limit',
    ['tool calls at their limit'],
    ['tool-calls/batch.ts', '  if (batches.isAtLimit) return batches.skipRest(resultBeyondLimit(phase))\n', ''],
  ],
  [
    'limits: what agents called',
    ['tool calls of agents at their limit'],
    ['tool-calls/child-run.ts', 'toolCalls: part(toolCalls) }', 'toolCalls: Infinity }'],
  ],
  [
    'limits: a reminder in each turn',
    ['for ever: reading, with reminders of limits'],
    ['loop/prepare.ts', 'return isReported ? [] :', 'return isReported && percent > 95 ? [] :'],
  ],
  [
    'limits: a request without a taking',
    ['standing budgets'],
    [
      'request/attempt.ts',
      "if (outcome !== 'aborted') return reserveStanding(attemptContext, resources, wait + 1)",
      "if (outcome !== 'aborted') return lookUpAttempt(attemptContext, resources)",
    ],
  ],
  [
    'limits: a taking that stays open',
    ['standing budgets, and aborts at every await'],
    ['request/attempt.ts', '  standing?.settle(usdOf(charge.nanos), charge.known)\n', ''],
  ],
  [
    'limits: a taking of a replay',
    ['standing budgets'],
    ['request/attempt.ts', 'granted === undefined || run.ports.isRecordOnly ||', 'granted === undefined ||'],
  ],
].map(([name, scenarios, ...changes]) => ({ name: String(name), scenarios, changes }))
