// Mutations of requests: what they cost, how often they are made, and what a compaction asks.
// [name, test files that check the promise, [file, text in it, replacement]...]
export const promisesOfRequests = [
  [
    'a resume: what nobody asks for any more is free at a lap',
    ['steps/lost-requests'],
    ['loop/decide.ts', 'run.identity.depth === 0 ? chargeOrphanedRequests(run) : undefined', 'undefined'],
  ],
  [
    'a resume: what nobody asks for any more is free at the end',
    ['steps/lost-requests'],
    ['loop/finish.ts', '    await chargeOrphanedRequests(run)\n', ''],
  ],
  [
    'a resume: what nobody asked for is paid anew after the next kill',
    ['steps/lost-requests'],
    ['loop/orphaned-requests.ts', '    .filter(({ key }) => !charged.has(key))\n', ''],
  ],
  [
    'a resume: what a further program asks for after all is paid twice',
    ['steps/lost-requests'],
    ['loop/orphaned-requests.ts', "        if (isOnRecord && steps.peek(key) === 'absent') continue\n", ''],
  ],
  [
    'a resume: an agent whose end is on record goes on',
    ['steps/ended-agents'],
    [
      'tool-calls/run-agent.ts',
      'isOver === undefined\n      ? childPorts\n      : { ...childPorts, steps: recordedOnly(childPorts.steps, isOver), isRecordOnly: true }',
      'childPorts',
    ],
  ],
  [
    'figures: what a compaction cost',
    ['budget/compaction'],
    [
      'request/questions.ts',
      '    super.charge(charge)\n    enterCharge(this.#run, charge)\n',
      '    super.charge(charge)\n',
    ],
  ],
  [
    'figures: what a compaction cost that is answered from the record',
    ['budget/compaction-requests'],
    ['loop/compaction.ts', '            enterBill(run, value)\n', ''],
  ],
  [
    "figures: a compaction's usage is not the run's own",
    ['budget/compaction'],
    ['request/questions.ts', "chargeOf(run.spent, charge, 'question')", "chargeOf(run.spent, charge, 'turn')"],
  ],
  [
    'fallback: what the first model counted is kept',
    ['transition/recoveries'],
    [
      'request/prompt-count.ts',
      'return counted.of === promptDigest({ context, spent }, model) ? counted : undefined',
      "return promptDigest(context, model) === '' ? undefined : counted",
    ],
  ],
  [
    'ledger: unknown cost is reported as known',
    ['budget/hard-budget'],
    [
      'request/attempt.ts',
      'ledger.settle(reservation, charge, charge.known)',
      'ledger.settle(reservation, charge, true)',
    ],
  ],
  [
    "ledger: a service's own tools are free",
    ['budget/hard-budget'],
    [
      'request/input-bound.ts',
      'return sent + maxServerToolUses * Math.max(sent, contextWindow)',
      'return sent + 0 * maxServerToolUses * contextWindow',
    ],
  ],
  [
    'ledger: a subagent has one of its own',
    ['tools/subagents'],
    [
      'tool-calls/run-agent.ts',
      'ledger: ledger.branchOfAgent({ nanos: nanosOf(maxBudgetUsd), tokens: maxTotalTokens })',
      'ledger: Ledger.create({ nanos: nanosOf(maxBudgetUsd), tokens: maxTotalTokens })',
    ],
    [
      'tool-calls/run-agent.ts',
      'import { AbortScope',
      "import { Ledger } from '../limits/ledger.ts'\nimport { AbortScope",
    ],
  ],
  [
    'figures: the time of the last request alone',
    ['terminal/figures'],
    ['loop/ask.ts', 'apiMs: apiMs + durationMs', 'apiMs: durationMs'],
  ],
  [
    'figures: an attempt that was never made counts',
    ['terminal/figures'],
    ['loop/ask.ts', "  if (outcome === 'aborted' && charge.known) return\n", ''],
  ],
  [
    'fallback: what was counted before a compaction is kept',
    ['budget/compaction'],
    ['loop/compaction.ts', ', counted: noCount, tokenRatio })', ', tokenRatio })'],
  ],
  [
    'allowance: fallback',
    ['transition/recoveries'],
    [
      'request/ask-model.ts',
      'if (isOverloaded && this.#asker.canFallBack &&',
      'if (isOverloaded && (this.#asker.canFallBack || true) &&',
    ],
  ],
  [
    'prices: what fails before a request under a budget costs nothing',
    ['budget/garbage-figures'],
    [
      'request/charge.ts',
      'if (!needsPrice(context.settings, model)) return',
      'if (!needsPrice(context.settings, model) || tokens > 0) return',
    ],
  ],
  [
    'prices: a reply that they know no cost of is free',
    ['budget/garbage-figures'],
    ['request/charge.ts', 'const isFree = grant.nanos === 0 &&', 'const isFree = grant.nanos >= 0 &&'],
  ],
  [
    'prices: what fails when the options are checked is passed over',
    ['budget/garbage-figures'],
    ['run/check-settings.ts', "if (answer.kind === 'broken')", "if (answer.kind === 'broken' && id === '')"],
  ],
  [
    'prices: what was spent before counts for nothing after a reply',
    ['budget/earlier-spending'],
    [
      'loop/after-reply.ts',
      'const spentUsd = run.ports.spentBeforeUsd + committedUsd(run.spent)',
      'const spentUsd = committedUsd(run.spent)',
    ],
  ],
  [
    'broken stream: taken for a whole reply',
    ['decisions'],
    [
      'request/model-call.ts',
      'streamError: streamError === undefined ? null : recordOf(streamError)',
      'streamError: streamError === undefined ? recordOf(streamError) && null : null',
    ],
  ],
  [
    'allowance: network retries',
    ['retry'],
    ['request/ask-model.ts', 'attemptsSinceWait > retries ||', 'attemptsSinceWait > 2 * retries ||'],
  ],
  [
    'allowance: what was lost with its process uses up retries',
    ['steps/lost-attempts'],
    ['request/ask-model.ts', 'return attempt - this.#lost', 'return attempt'],
  ],
  [
    'allowance: what is lost again and again is asked for ever',
    ['steps/lost-attempts'],
    ['request/ask-model.ts', 'this.#lost > maxLostAttempts', 'this.#lost > 9 * maxLostAttempts'],
  ],
  [
    'time: the limit is a timer alone',
    ['steps/clocks'],
    ['values/abort.ts', '    if (this.#cause === undefined) this.#check?.()\n', ''],
  ],
  [
    'time: a clock that is set back takes time away',
    ['steps/clocks'],
    ['values/clock.ts', 'if (reading > this.#lastReading) this.#now +=', 'this.#now +='],
  ],
  [
    'time: an attempt without room is refused after an abort',
    ['steps/clocks'],
    [
      'request/attempt.ts',
      'for the next attempt.\n        if (cause !== undefined)',
      'for the next attempt.\n        if (cause !== undefined && grant.isOfLease === true)',
    ],
  ],
  [
    'broken stream: charged as if it had reported its usage',
    ['budget/hard-budget'],
    ['request/model-call.ts', 'if (streamError !== undefined) return unknownCharge(run, plan, grant)\n', ''],
  ],
  [
    'broken stream: a compaction does not learn that its answer broke off',
    ['budget/compaction-requests'],
    [
      'request/question.ts',
      'message: outcome.message, streamError: outcome.streamError',
      'message: outcome.message, streamError: null',
    ],
  ],
  [
    'held back: a subagent may spend what the last answer of its parent costs',
    ['budget/last-answer-reserve'],
    ['tool-calls/run-agent.ts', '    parentReserves: () => reserves,\n', ''],
  ],
  [
    'compaction: asks as often as it likes',
    ['budget/compaction-requests'],
    ['request/questions.ts', 'number > limit ?', 'number > 3 * limit ?'],
  ],
  [
    'compaction: the run goes on while a question is under way',
    ['budget/compaction-requests'],
    ['request/questions.ts', '    await Promise.all(this.#asking)\n', ''],
  ],
  [
    'hooks: what one asked is not in the figures when it is answered from the record',
    ['hooks/questions-of-hooks'],
    [
      'request/step-with-questions.ts',
      'if (bill === undefined) enterBill(run, end.value)\n        else bill.addAll(end.value)\n',
      'if (bill !== undefined) bill.addAll(end.value)\n',
    ],
  ],
  [
    'tools: what one asked is not in the figures when it is answered from the record',
    ['tools/questions-of-tools'],
    ['request/step-with-questions.ts', '        else bill.addAll(end.value)\n', ''],
  ],
  [
    'hooks: one that is over asks on',
    ['hooks/questions-of-hooks'],
    ['request/step-with-questions.ts', '    if (this.#isOver) return tooLate\n', ''],
  ],
  [
    'compaction: one that is over asks on',
    ['budget/compaction-requests'],
    ['request/questions.ts', "    if (this.#isOver) return { kind: 'aborted' }\n", ''],
  ],
  [
    'retry: a wait of any length',
    ['callbacks'],
    ['request/ask-model.ts', ' || delayMs > longestRetryWaitMs || waits', ' || waits'],
  ],
  [
    'retry: overloads with others between',
    ['transition/recoveries'],
    [
      'request/ask-model.ts',
      "error.kind === 'overloaded' ? this.#overloads + 1 : 0",
      "error.kind === 'overloaded' ? this.#overloads + 1 : this.#overloads",
    ],
  ],
  [
    'budget: a reply that was cut at what was left escalates',
    ['budget/hard-budget'],
    [
      'loop/recover.ts',
      '  if (grant.lowered !== null) {\n',
      '  if (grant.lowered !== null && grant.maxTokens < 0) {\n',
    ],
    [
      'loop/incomplete.ts',
      "(message.stop_reason === 'max_tokens' && grant.lowered === null)",
      "message.stop_reason === 'max_tokens'",
    ],
  ],
  [
    'budget: more tokens than were asked for are passed over',
    ['callbacks'],
    [
      'loop/after-reply.ts',
      'run.spent.totalTokens > run.context.settings.maxTotalTokens ?',
      'run.spent.totalTokens < 0 ?',
    ],
  ],
  [
    'budget: an image that was removed is counted on',
    ['budget/garbage-figures'],
    ['loop/recover.ts', '  run.update({ counted: noCount })\n', ''],
  ],
  [
    'budget: an aborted attempt is free',
    ['budget/hard-budget'],
    [
      'request/model-call.ts',
      'const charge = wasNotSent(settled) ? noCharge(plan.model) : unknownCharge(run, plan, grant)',
      'const charge = noCharge(plan.model)',
    ],
  ],
  [
    'budget: an aborted attempt that never reached the service is charged',
    ['budget/lease'],
    ['request/model-call.ts', 'wasNotSent(settled) ? noCharge', 'wasNotSent(settled) && grant.tokens < 0 ? noCharge'],
  ],
  [
    'budget: a refusal by the service is charged',
    ['budget/hard-budget'],
    [
      'request/model-call.ts',
      "return error.billed === 'nothing' ? noCharge(plan.model) : unknownCharge",
      "return error.billed === 'nothing' && grant.tokens < 0 ? noCharge(plan.model) : unknownCharge",
    ],
  ],
  [
    'budget: an open attempt of a run without a limit is forgotten',
    ['budget/garbage-figures'],
    ['steps/fold.ts', 'maxOfGrant(record.intent) ?? zeroAmount', 'amountOf(record.intent)'],
  ],
  [
    'budget: what was spent before a limit was set is forgotten',
    ['live/settings'],
    ['request/attempt.ts', '  else ports.ledger.restore(charge, charge.known ? zeroAmount : charge)\n', ''],
  ],
  [
    'budget: money is rounded down',
    ['budget/ledger'],
    ['model/prices.ts', 'nearest : Math.ceil(exact)', 'nearest : Math.floor(exact)'],
  ],
  [
    'budget: the last answer is paid from what is left',
    ['budget/hard-budget'],
    [
      'request/reserve.ts',
      'room: reserveNothing }, ...bounds.reserves()]',
      'room: reserveNothing }, ...bounds.reserves().slice(0, 0)]',
    ],
  ],
  [
    'budget: each run of a session has all of it',
    ['engine/session'],
    ['api/engine.ts', "          if (this.#account.isSpent) running.abort('budget')\n", ''],
    ['api/engine.ts', 'const runLedger = ledger.branch(', 'const runLedger = Ledger.create(ledger.limits).branch('],
    ['api/engine.ts', 'import type { Ledger }', 'import { Ledger }'],
    ['api/engine.ts', 'const spentBeforeUsd = usdOf(ledger.figures().settled.nanos)', 'const spentBeforeUsd = 0'],
  ],
  [
    'compaction: a conversation that no service takes is one',
    ['garbage'],
    ['loop/compaction.ts', '    checkReplacement(transcript, restored)\n', '    void transcript\n'],
  ],
  [
    'compaction: an abort that cuts one is passed over',
    ['budget/compaction-requests'],
    ['loop/compaction.ts', "  if (aborted !== undefined) return abortEnding(run, aborted, 'streaming')\n", ''],
  ],
  [
    'compaction: models that were not named are asked',
    ['budget/compaction-requests'],
    [
      'request/question.ts',
      'if (model !== undefined && !isNamedModel(run, model))',
      'if (model !== undefined && !isNamedModel(run, model) && system.length === 0)',
    ],
  ],
  [
    'web search: a model that cannot search is asked to',
    ['tools/web-search'],
    [
      'request/question.ts',
      'return webSearch === undefined ? undefined : problemOfWebSearch(model ?? currentModel(run), webSearch)',
      'return undefined',
    ],
  ],
  [
    'web search: searches are not reserved for',
    ['tools/web-search'],
    ['model/web-search.ts', 'maxServerToolUses: maxServerToolUses + maxUses', 'maxServerToolUses'],
  ],
].map(([name, tests, ...changes]) => ({ name: String(name), tests, changes }))
