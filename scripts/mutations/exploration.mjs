// Mutations that the exploration must see: each takes away one allowance check or one synthetic result, or swaps two checks.
// Not here: the results for calls of a refusal, of a last answer and of a run that breaks. `conclude` closes open calls as well, so without them
// only the words change; tests hold those.
// [name, file, what stands there, what stands there instead, [what stands there, what stands there instead]...]
export const explored = [
  [
    'allowance: every route',
    'decide.ts',
    'if (lapsLeft(route.transition, state.spent.laps, ports.limits) <= 0) continue',
    '',
  ],
  [
    'allowance: continuation_requested',
    'decide.ts',
    " || lapsLeft('continuation_requested', spent.laps, ports.limits) <= 0",
    '',
  ],
  [
    'allowance: wrap_up',
    'decide.ts',
    "state.spent.closing !== null || lapsLeft('wrap_up', state.spent.laps, ports.limits) <= 0",
    'false',
  ],
  ['allowance: overridden twice', 'decide.ts', 'fixed || again ||', 'fixed ||'],
  ['allowance: what is never overridden', 'decide.ts', 'fixed || again ||', 'again ||'],
  ['allowance: stop hook cap', 'turn/settle.ts', 'if (taken >= cap) return undefined', ''],
  ['allowance: broken reply resumed once', 'turn/recover.ts', 'from.spent.resumedBrokenReply\n', 'false\n'],
  ['allowance: escalation only upwards', 'turn/recover.ts', 'canEscalate(from, ports) ? from : undefined', 'from'],
  [
    'allowance: media removed only once',
    'turn/recover.ts',
    'after.every((message, index) => message === before[index]) ? undefined : next',
    'next',
  ],
  [
    'allowance: network retries',
    'turn/respond.ts',
    '!error.retryable || attempt > ports.settings.maxRetries',
    '!error.retryable || attempt > 2 * ports.settings.maxRetries',
  ],
  [
    'allowance: fallback',
    'turn/respond.ts',
    'overloads >= overloadsBeforeFallback && canFallBack(current, ports)',
    'overloads >= overloadsBeforeFallback',
  ],
  ['allowance: subagents', 'turn/prepare-call.ts', 'state.spent.subagents < settings.maxSubagents', 'true'],
  [
    'allowance: refill by any lap',
    'allowance.ts',
    "(row.purse === 'gate' && gained)",
    "(row.purse === 'gate' && gained) || transition === 'stop_hook_blocking'",
  ],
  ['allowance: token gate', 'budget/token-target.ts', 'if (!diminishingReturns && turnTokens', 'if (turnTokens'],
  ...[
    'pause_turn',
    'stop_hook_blocking',
    'structured_output_retry',
    'max_output_tokens_recovery',
    'continuation_requested',
  ].map((name) => [
    `allowance: one more ${name}`,
    'allowance.ts',
    new RegExp(`${name}: \\{ purse: 'own', laps: (\\d+)`),
    (_all, laps) => `${name}: { purse: 'own', laps: ${Number(laps) + 1}`,
  ]),
  [
    'result: aborted while streaming',
    'turn/recover.ts',
    'const closed = await closeCalls(said, partial, cause, early, ports, emit)',
    'const closed = said',
  ],
  [
    'result: aborted after the reply',
    'turn/hear.ts',
    'const closed = await closeCalls(state, reply.message, cause, reply.early, ports, emit)',
    'const closed = state',
  ],
  [
    'result: stopped after the reply',
    'turn/hear.ts',
    /const closed = notRunAll\(current, calls[^\n]*/,
    'const closed = current',
  ],

  ['result: calls after a stop', 'turn/act.ts', 'results.set(call.id, skipped)', ''],
  [
    'result: what is still open at the end',
    'turn/close-calls.ts',
    'return toolCallsOf(entry.message).filter(',
    'return toolCallsOf({ content: [] }).filter(',
  ],

  ['result: approvals that never came', 'start.ts', /else state = closeOpenCalls\([^\n]*/, ''],
  ['result: unknown outcome', 'turn/run-call.ts', "onOpen: reruns ? 'rerun' : () => unknownOutcome", "onOpen: 'rerun'"],
  [
    'result: no tool after an abort',
    'turn/execute-call.ts',
    'if (abort.cause !== undefined) return interrupted(abort.cause, false)',
    '',
  ],
  [
    'result: unknown tool',
    'turn/prepare-call.ts',
    'if (tool === undefined) return answered(',
    'if (tool === undefined) throw new Error(call.name)\n  if (tool === undefined) return answered(',
  ],
  [
    'order: guards before the inbox',
    'turn/prepare.ts',
    'const guarded = guardsAt(',
    "const early = (await inboxAt('before_turn', control.state, ports, emit)) ?? control.state\n  const guarded = guardsAt(",
    ["guardsAt('before_turn', control.state,", "guardsAt('before_turn', early,"],
  ],
  [
    'order: drain before reactive',
    'turn/recover.ts',
    "return [route('collapse_drain_retry', 'drain'), route('reactive_compact_retry', 'compact')]",
    "return [route('reactive_compact_retry', 'compact'), route('collapse_drain_retry', 'drain')]",
  ],
  ['order: escalate before resume', 'turn/recover.ts', '[escalate, resume]', '[resume, escalate]'],
  [
    'order: cost before standing signals',
    'turn/hear.ts',
    'costDraft(current, ports) ?? tokensDraft(current, ports) ?? standing(current)',
    'standing(current) ?? costDraft(current, ports)',
  ],
  [
    'order: abort before signals after the reply',
    'turn/hear.ts',
    'if (control.abort !== undefined) return',
    'if (control.abort !== undefined && standing(current) === undefined) return',
  ],
  [
    'order: finish reason before follow-ups',
    'turn/settle.ts',
    /(  if \(guarded\.state\.continuation[^\n]*\n[^\n]*\n)\n(  const asked[^\n]*\n  if \(asked[^\n]*\n[^\n]*\n)/,
    (_all, guard, inbox) => `${inbox}\n${guard}`,
  ],
  [
    'order: follow-ups before the output schema',
    'turn/settle.ts',
    /(  const asked[^\n]*\n  if \(asked[^\n]*\n[^\n]*\n)\n(  const misfit[^\n]*\n  if \(misfit[^\n]*\n)/,
    (_all, inbox, output) => `${output}\n${inbox}`,
  ],
  [
    'order: output schema before stop hooks',
    'turn/settle.ts',
    /(  const misfit[^\n]*\n  if \(misfit[^\n]*\n)\n(  const hooked[^\n]*\n)/,
    (_all, output, hooks) => `${hooks}  if (hooked.kind === 'outcome') return hooked\n${output}`,
  ],
  [
    'order: block before prevent',
    'turn/settle.ts',
    'if (blocks.length > 0) return',
    'if (blocks.length > 0 && prevented === undefined) return',
  ],
  [
    'order: stop hooks before the token target',
    'turn/settle.ts',
    /(  const hooked = await stopHookStage[^\n]*\n)/,
    (_all, hooks) =>
      `  const target = tokenTarget(guarded.state, ports, emit)\n  if (target.routes.length > 0) return target\n${hooks}`,
  ],
  [
    'order: abort before a thrown stop',
    'turn/act.ts',
    "if (abort !== undefined) return ends(control.state, abortDraft(abort, 'tools', control.state, ports))",
    "if (abort !== undefined && acted.stops.length === 0) return ends(control.state, abortDraft(abort, 'tools', control.state, ports))",
  ],
  [
    'order: a thrown stop before hook_stopped',
    'turn/act.ts',
    /(  const thrown = [^\n]*\n  if \(thrown[^\n]*\n)(  const stopped = [^\n]*\n  if \(stopped[^\n]*\n)/,
    (_all, thrown, stopped) => stopped + thrown,
  ],
  [
    'order: hook_stopped before needs_approval',
    'turn/act.ts',
    /(  const stopped = [^\n]*\n  if \(stopped[^\n]*\n)(  if \(acted\.pending[^\n]*\n)/,
    (_all, stopped, pending) => pending + stopped,
  ],
  [
    'order: needs_approval before guards',
    'turn/act.ts',
    /(  if \(acted\.pending\.length > 0\) return[^\n]*\n)(  if \(current\.continuation[^\n]*\n)/,
    (_all, pending, guards) => guards + pending,
  ],
  [
    'order: guards before max turns',
    'turn/act.ts',
    '  if (current.continuation.stopSignals().hasAny()) return ends(current, standingDraft(current, guarded.raisedBy))\n',
    '',
  ],
  [
    'order: context before the request',
    'turn/prepare.ts',
    'return defendContext(asking, ports, emit)',
    "return { kind: 'ready', state: asking }",
  ],
].map(([name, file, from, to, ...again]) => ({
  name: String(name),
  changes: [[file, from, to], ...again.map(([more, instead]) => [file, more, instead])],
}))
