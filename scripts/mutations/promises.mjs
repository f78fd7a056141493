// Mutations that the promise tests of core must see without the exploration: each takes one promise away.
// [name, test files that hold the promise, [file, what stands there, what stands there instead]...]
export const promises = [
  [
    "figures: a subagent's unknown cost",
    ['tools/subagents'],
    [
      'turn/calls/run-agent.ts',
      'unknownNanos: spent.unknownNanos + child.unknownNanos',
      'unknownNanos: spent.unknownNanos',
    ],
  ],
  [
    'figures: what a compaction cost',
    ['budget/compaction'],
    [
      'turn/compaction.ts',
      "        run.update(chargeOf(run.spent, charge, 'compaction'))\n      },",
      '        void charge\n      },',
    ],
  ],
  [
    'figures: what a compaction cost that is answered from the record',
    ['budget/compaction-requests'],
    [
      'turn/compaction.ts',
      "        for (const charge of value.charges) run.update(chargeOf(run.spent, charge, 'compaction'))\n",
      '',
    ],
  ],
  [
    "figures: a compaction's usage is not the run's own",
    ['budget/compaction'],
    [
      'turn/compaction.ts',
      "        run.update(chargeOf(run.spent, charge, 'compaction'))\n      },",
      "        run.update(chargeOf(run.spent, charge, 'turn'))\n      },",
    ],
  ],
  [
    'digest: of a call without its input',
    ['steps/resume'],
    [
      'turn/calls/run-call.ts',
      "digestOf(`${call?.name ?? ''} ${JSON.stringify(call?.input) ?? ''}`)",
      "digestOf(call?.name ?? '')",
    ],
  ],
  [
    'ledger: open reservations after a resume',
    ['steps/resume'],
    ['steps/fold.ts', 'for (const amount of open.values()) {', 'for (const amount of [] as Amount[]) {'],
  ],
  [
    'sync: of a call that writes',
    ['steps/driver'],
    ['turn/calls/run-call.ts', "sync: readOnly ? 'none' : 'intent'", "sync: 'none'"],
  ],
  [
    'sync: of a request under a limit',
    ['steps/driver'],
    ['turn/request/attempt.ts', "sync: ledger.limited ? 'intent' : 'none'", "sync: 'none'"],
  ],
  [
    'break: "not run" for a call that had begun',
    ['steps/driver'],
    ['turn/calls/close-calls.ts', 'phase.hasBegun(index) ? unknownOutcome', 'phase.hasBegun(-9) ? unknownOutcome'],
  ],
  [
    'break: "unknown" for a call that had ended',
    ['steps/driver'],
    ['turn/calls/close-calls.ts', '    enterEnded(run, phase)\n', ''],
  ],
  [
    'break: what was told is told again',
    ['callbacks'],
    ['turn/calls/enter-results.ts', '  phase.isEntered = true\n', ''],
  ],
  [
    'break: what hooks had not seen is told',
    ['tools/broken-runs'],
    [
      'turn/calls/finish-call.ts',
      "hasHooksAfter(run, call.name, ran.result) ? withheld(ran.result, 'broke') : ran.result",
      'ran.result',
    ],
  ],
  [
    'break: what a call that had ended took and spent is lost',
    ['tools/broken-runs'],
    ['turn/calls/finish-call.ts', '    if (phase.entering !== ran) enterRan(run, phase, ran)\n', ''],
  ],
  [
    'ids: a call keeps an id that came before',
    ['tools/call-ids'],
    ['call-ids.ts', 'if (!this.#numbers.has(id) && also?.has(id) !== true) return id', 'if (id.length > 0) return id'],
  ],
  [
    'ids: an early start is taken by its place alone',
    ['tools/call-ids'],
    ['turn/calls/early-starts.ts', 'looked !== undefined && isSame(looked.call, call) ? looked : undefined', 'looked'],
  ],
  [
    'values: a tool is called with the input of the transcript',
    ['tools/shared-values'],
    ['turn/calls/inspect-call.ts', 'mutableCopyOf(given as Json)', 'given'],
  ],
  [
    'once: rules are asked again for a call that started early',
    ['tools/asked-once'],
    ['turn/calls/ask-permission.ts', 'said ?? askRules(run, request)', 'askRules(run, request)'],
  ],
  [
    'once: an early look is not kept',
    ['tools/asked-once'],
    ['turn/calls/batch.ts', 'early.find(call, index) ?? inspectCall', 'inspectCall'],
  ],
  [
    'garbage: what is no decision allows',
    ['garbage'],
    [
      'tools/permission-decision.ts',
      'plainTextOf(message) } : noDecision',
      "plainTextOf(message) } : { behavior: 'allow' }",
    ],
  ],
  [
    'garbage: a denial without a reason does not deny',
    ['garbage'],
    ['hooks/hook-context.ts', 'plainTextOf(reason) || denied', 'reason'],
  ],
  [
    'break: what hooks said is lost',
    ['steps/driver'],
    ['turn/calls/enter-results.ts', '  addHookMessages(run, phase.messages)\n', ''],
  ],
  [
    'time: the whole deadline again on a resume',
    ['steps/resume'],
    ['iterate.ts', 'usedMs: reached - state.spent.startedAt,', 'usedMs: reached - reached,'],
  ],
  [
    'time: the whole deadline again in a run that carries on',
    ['transition/carry'],
    ['iterate.ts', 'usedMs: reached - state.spent.startedAt,', 'usedMs: reached - reached,'],
  ],
  [
    'fallback: what the first model counted is kept',
    ['transition/recoveries'],
    [
      'turn/request/prompt-count.ts',
      'return counted.of === promptDigest(context, model) ? counted : undefined',
      "return promptDigest(context, model) === '' ? undefined : counted",
    ],
  ],
  [
    'inbox: follow-ups before steering',
    ['order-of-evaluation'],
    [
      'inbox.ts',
      'const taken = all ? this.#waiting :',
      'const taken = all ? this.#waiting.toSorted((a, b) => (a.kind < b.kind ? -1 : a.kind > b.kind ? 1 : 0)) :',
    ],
  ],
  [
    'inbox: steering before follow-ups at the end',
    ['order-of-evaluation'],
    [
      'inbox.ts',
      'const taken = all ? this.#waiting :',
      'const taken = all ? this.#waiting.toSorted((a, b) => (a.kind > b.kind ? -1 : a.kind < b.kind ? 1 : 0)) :',
    ],
  ],
  [
    'inbox: the last one first',
    ['order-of-evaluation'],
    [
      'inbox.ts',
      'const taken = all ? this.#waiting : this.#waiting.filter',
      'const taken = all ? this.#waiting.toReversed() : this.#waiting.toReversed().filter',
    ],
  ],
  [
    'inbox: follow-ups before the run would end',
    ['order-of-evaluation'],
    ['turn/checkpoint.ts', "run.ports.inbox.takeMessages(place === 'end')", 'run.ports.inbox.takeMessages(true)'],
  ],
  [
    'carry: once-a-run laps',
    ['transition/carry'],
    [
      'start.ts',
      'laps: { sinceRefill: {}, inRun: laps.inRun }',
      'laps: { sinceRefill: {}, inRun: { next_turn: laps.inRun.next_turn ?? 0, user_input: laps.inRun.user_input ?? 0 } }',
    ],
  ],
  [
    'carry: turns',
    ['transition/carry'],
    ['start.ts', 'inRun: laps.inRun }', 'inRun: { ...laps.inRun, next_turn: 0 } }'],
  ],
  [
    'carry: refilled allowances',
    ['transition/carry'],
    ['start.ts', 'laps: { sinceRefill: {}, inRun: laps.inRun }', 'laps'],
  ],
  [
    'carry: unknown cost',
    ['transition/carry'],
    ['start.ts', '    nanos,\n    unknownNanos,\n', '    nanos,\n    unknownNanos: 0 * unknownNanos,\n'],
  ],
  [
    'stops: in the order in which they were raised',
    ['order-of-evaluation'],
    ['turn/calls/tool-phase.ts', 'this.#stops.toSorted((a, b) => a.index - b.index)', 'this.#stops'],
  ],
  [
    'stops: the last one wins',
    ['order-of-evaluation'],
    [
      'turn/after-tools.ts',
      'if (stops[0] !== undefined) return hookStopDraft(stops[0])',
      'const last = stops.at(-1)\n  if (last !== undefined) return hookStopDraft(last)',
    ],
  ],
  [
    "subagent: always told 'parent'",
    ['tools/subagents'],
    [
      'turn/calls/run-agent.ts',
      "abort.abort(cause === 'time' || cause === 'budget' ? cause : 'parent')",
      "abort.abort('parent')",
    ],
  ],
  [
    "subagent: told its parent's own cause",
    ['tools/subagents'],
    [
      'turn/calls/run-agent.ts',
      "abort.abort(cause === 'time' || cause === 'budget' ? cause : 'parent')",
      'abort.abort(cause)',
    ],
  ],
  [
    'stop hooks: the last prevention wins',
    ['order-of-evaluation'],
    ['turn/after-answer.ts', 'wishes.prevented ??= {', 'wishes.prevented = {'],
  ],
  [
    'tool hooks: the last prevention wins',
    ['order-of-evaluation'],
    [
      'turn/calls/finish-call.ts',
      'for (const { hook, outcome } of hooks.outcomes) {',
      'for (const { hook, outcome } of hooks.outcomes.toReversed()) {',
    ],
  ],
  [
    'form: a route that declines has written a message',
    ['transition/recoveries'],
    [
      'turn/recover.ts',
      "      if (!run.transcript.messages().some(holdsMedia)) return 'declined'\n",
      "      if (!run.transcript.messages().some(holdsMedia)) {\n        run.append({ kind: 'media_removed', id: run.entryId('media_removed'), note: '' })\n        return 'declined'\n      }\n",
    ],
  ],
  [
    'form: a route that declines has written a message, and nobody counts',
    ['transition/recoveries'],
    [
      'turn/recover.ts',
      "      if (!run.transcript.messages().some(holdsMedia)) return 'declined'\n",
      "      if (!run.transcript.messages().some(holdsMedia)) {\n        run.append({ kind: 'media_removed', id: run.entryId('media_removed'), note: '' })\n        return 'declined'\n      }\n",
    ],
    ['turn/run.ts', 'if (this.#writes !== writes)', 'if (this.#writes < writes)'],
  ],
  [
    'form: a route that declines has written a figure',
    ['transition/turns'],
    [
      'turn/after-answer.ts',
      "if (taken >= cap) return 'declined'",
      "from.update({ stopHookActive: true })\n      if (taken >= cap) return 'declined'",
    ],
  ],
  [
    'form: the clock is moved inside calls that run together',
    ['steps/resume'],
    ['turn/calls/run-call.ts', 'return run.stepBeside<ToolResult>(', 'return run.step<ToolResult>('],
  ],
  [
    'form: a subagent reads the clock at its end',
    ['tools/subagents'],
    [
      'turn/calls/run-agent.ts',
      'endedAt: now + ended.terminal.durationMs, spent: ended.state.spent',
      'get endedAt() { return run.spent.now + ended.terminal.durationMs }, spent: ended.state.spent',
    ],
    ['turn/calls/run-call.ts', 'at: agent.endedAt, durationMs: 0', 'get at() { return agent.endedAt }, durationMs: 0'],
  ],
  [
    'form: signals of tool hooks are not held',
    ['hooks/tool-hooks'],
    [
      'turn/run-hooks.ts',
      '    if (hooks.raised.length > 0) run.setContinuation(run.continuation.withStopSignals(standing))\n',
      '',
    ],
  ],
  [
    'form: a result is entered when its neighbours have ended',
    ['steps/driver'],
    ['turn/calls/run-call.ts', 'return after(running, (ran) => phase.addRan(ran))', 'return running'],
    ['turn/calls/finish-call.ts', '  phase.entering = ran\n', '  phase.addRan(ran)\n  phase.entering = ran\n'],
  ],
  [
    'form: a snapshot that was handed out is written',
    ['hooks/snapshots'],
    ['turn/run.ts', '    this.#isShared = true\n    this.#snapshot = {', '    this.#snapshot = {'],
  ],
  [
    'form: the record of a lap is written afterwards',
    ['hooks/snapshots'],
    [
      'turn/run.ts',
      '    this.#progress = spent\n    this.#isShared = true\n',
      '    this.#progress = spent\n    this.#isShared = false\n',
    ],
  ],
  [
    'form: the state that a run began in is written',
    ['hooks/snapshots'],
    ['turn/run.ts', '  #isShared = true\n', '  #isShared = false\n'],
  ],
  [
    'form: a lap changes the run before it is on record',
    ['steps/driver'],
    [
      'turn/run.ts',
      '    const added = this.#transcript.since(this.#lapLength)\n',
      '    const added = this.#transcript.since(this.#lapLength)\n    this.#progress = spent\n    this.#isShared = true\n    this.#lapLength = this.#transcript.length\n',
    ],
  ],
  [
    'time: what the open turn took is not counted on a resume',
    ['steps/resume'],
    ['iterate.ts', 'Math.max(state.spent.now, context.recordedUntil ?? 0)', 'state.spent.now'],
  ],
  [
    'time: the clock moves back where a shorter call stands behind a longer one',
    ['terminal/figures'],
    ['turn/run.ts', 'if (now > this.#progress.now) this.update', 'this.update'],
  ],
  [
    'time: the limit stands still for ever once a person was waited for',
    ['tools/approvals'],
    ['turn/calls/ask-permission.ts', '    deadline.goOn()\n', ''],
  ],
  [
    'time: a run that is resumed began when its last lap ended',
    ['steps/resume'],
    [
      'steps/fold.ts',
      'spent: { ...record.lap.spent, startedAt }',
      'spent: { ...record.lap.spent, startedAt: Math.max(startedAt, record.lap.spent.now) }',
    ],
  ],
  [
    'resume: laps of a subagent are folded into the run',
    ['steps/resume'],
    ['steps/fold.ts', "record.type === 'lap' && record.lap.scope === ''", "record.type === 'lap'"],
  ],
  [
    'digest: of a request without its conversation',
    ['steps/resume'],
    ['turn/ask.ts', 'return this.#run.transcript.digest().toString(36)', "return ''"],
  ],
  [
    'ledger: what past turns cost after a resume',
    ['steps/resume'],
    ['steps/fold.ts', '    settled = plus(settled, amountOf(charge))\n', ''],
  ],
  [
    'ledger: unknown cost that a run carries on',
    ['transition/carry'],
    ['iterate.ts', 'nanos: nanos + unknownNanos, tokens', 'nanos, tokens'],
  ],
  [
    'ledger: unknown cost is told as known',
    ['budget/hard-budget'],
    [
      'turn/request/attempt.ts',
      'ledger.settle(reservation, charge, charge.known)',
      'ledger.settle(reservation, charge, true)',
    ],
  ],
  [
    "ledger: a service's own tools are free",
    ['budget/hard-budget'],
    [
      'turn/request/input-bound.ts',
      'return sent + maxServerToolUses * Math.max(sent, contextWindow)',
      'return sent + 0 * maxServerToolUses * contextWindow',
    ],
  ],
  [
    'ledger: a subagent has one of its own',
    ['tools/subagents'],
    ['turn/calls/run-agent.ts', 'ledger: ledger.branch()', 'ledger: Ledger.create()'],
    [
      'turn/calls/run-agent.ts',
      'import { AbortScope',
      "import { Ledger } from '../../budget/ledger.ts'\nimport { AbortScope",
    ],
  ],
  [
    "figures: a subagent's deaf tools",
    ['tools/subagents'],
    ['turn/calls/run-agent.ts', '    stillRunning: [...spent.stillRunning, ...child.stillRunning],\n', ''],
  ],
  [
    'figures: the time of the last request alone',
    ['terminal/figures'],
    ['turn/ask.ts', 'apiMs: apiMs + durationMs', 'apiMs: durationMs'],
  ],
  [
    'figures: an attempt that was never made counts',
    ['terminal/figures'],
    ['turn/ask.ts', "  if (outcome === 'aborted' && charge.known) return\n", ''],
  ],
  [
    'figures: results for calls that waited',
    ['tools/approvals'],
    ['start.ts', 'toolResults: closed.spent.toolResults + calls.length', 'toolResults: closed.spent.toolResults'],
  ],
  ['carry: the token target begins anew', ['transition/carry'], ['start.ts', '    tracker,\n', '']],
  [
    'fallback: what was counted before a compaction is kept',
    ['budget/compaction'],
    ['turn/compaction.ts', ', counted: noCount })', ' })'],
  ],
  [
    'no progress: a nudge beside another signal',
    ['guards/guards'],
    ['decide.ts', "  if ([...run.signals].some((signal) => signal.reason !== 'no_progress')) return noRoutes\n", ''],
  ],
  [
    'no progress: turns are remembered for nobody',
    ['guards/guards'],
    [
      'turn/calls/enter-results.ts',
      'looksAtTurns ? remembered(recentTurns, turnHash(phase.calls, blocks)) : recentTurns',
      'remembered(recentTurns, turnHash(phase.calls, blocks))',
    ],
  ],
  ['override: what is never overridden', ['decisions'], ['decide.ts', 'isFixed || isAgain ||', 'isAgain ||']],
  [
    'recovery: escalation only upwards',
    ['transition/recoveries'],
    ['turn/recover.ts', "(canEscalate(run) ? 'taken' : 'declined')", "(canEscalate(run) ? 'taken' : 'taken')"],
  ],
  [
    'outside: a stop is lost beside a cancellation source',
    ['guards/sources'],
    ['turn/checkpoint.ts', ': pollSources(run, signals)', ': pollSources(run, [])'],
  ],
  [
    'outside: the last answer takes messages and stops in',
    ['decisions'],
    ['turn/prepare.ts', '  if (run.spent.closing !== null) return undefined\n', ''],
  ],
  [
    'abort: a model that was left is still heard',
    ['tools/abort'],
    [
      'turn/request/attempt.ts',
      'this.#partial.isClosed ? undefined : this.#blocks.told(given)',
      'this.#blocks.told(given)',
    ],
  ],
  [
    'abort: hooks are called after it',
    ['hooks/lifecycle'],
    [
      'turn/run-hooks.ts',
      "if (cause !== undefined && trigger !== 'afterExecution' && trigger !== 'onError') return",
      "if (cause !== undefined && trigger === 'beforeExecution') return",
    ],
  ],
  [
    'abort: calls are looked at after one that it cut',
    ['tools/abort'],
    ['turn/calls/finish-call.ts', '  phase.noteAbort(result.abort)\n', ''],
  ],
  [
    'abort: calls are looked at after a hook that it cut',
    ['tools/abort'],
    ['turn/calls/finish-call.ts', '  phase.noteAbort(hooks.aborted)\n', ''],
  ],
  [
    'end: hooks of a run that broke',
    ['callbacks'],
    ['finish.ts', "if (how === 'with_hooks') await lastHooks(run, draft)", 'await lastHooks(run, draft)'],
  ],
  [
    'end: tasks after any run',
    ['callbacks'],
    ['finish.ts', "if (draft.reason === 'completed') startPostRun(run)", 'startPostRun(run)'],
  ],
  [
    'hooks: what onError says about a hook that failed is lost',
    ['hooks/lifecycle'],
    ['turn/run-hooks.ts', '      this.messages.push(...told.messages)\n', ''],
  ],
  [
    'hooks: what onError raises about a hook that failed is lost',
    ['hooks/lifecycle'],
    ['turn/run-hooks.ts', '      this.raised.push(...told.raised)\n', ''],
  ],
  [
    'tool hooks: told the input as the model gave it',
    ['hooks/tool-hooks'],
    ['turn/calls/finish-call.ts', 'prepared.inspected.taken !== call.input', 'prepared.inspected.taken === null'],
  ],
  [
    'tool hooks: what an abort kept from them is told',
    ['tools/redacted'],
    ['turn/calls/finish-call.ts', "  if (aborted !== undefined) return withheld(result, 'was aborted')\n", ''],
  ],
  [
    'tool hooks: the details of a replaced result are told',
    ['tools/redacted'],
    ['tools/tool-result.ts', 'details: _details, error: _error, ...result', '...result'],
  ],
  [
    'resume: a call that had not begun is not asked about',
    ['steps/another-program'],
    ['turn/calls/tool-phase.ts', 'return this.#positionOf(index)', 'return this.#positionOf(0 * index)'],
  ],
  [
    'tool hooks: the first replaced output is told',
    ['hooks/tool-hooks'],
    ['turn/calls/finish-call.ts', '= outcomes.findLast(', '= outcomes.find('],
  ],
  [
    'tool hooks: the first changed input counts',
    ['hooks/tool-hooks'],
    [
      'turn/calls/prepare-call.ts',
      'outcomes.findLast((outcome) => outcome.input !== undefined)',
      'outcomes.find((outcome) => outcome.input !== undefined)',
    ],
  ],
  [
    'tool hooks: one that vouches outdoes one that asks',
    ['hooks/tool-hooks'],
    ['turn/calls/prepare-call.ts', "outcomes.some((outcome) => outcome.permission === 'ask')", 'outcomes.length < 0'],
  ],
  ['subagent: asked for a last answer', ['tools/subagents'], ['turn/calls/run-agent.ts', '      wrapUp: false,\n', '']],
  [
    'subagent: handed what is for the main loop',
    ['tools/subagents'],
    ['turn/calls/run-agent.ts', '    inbox: closedInbox,\n', ''],
  ],
  ['subagent: tasks after it', ['tools/subagents'], ['turn/calls/run-agent.ts', '    postRun: [],\n', '']],
  // Moved from the exploration, which sees terminals and laps: what these take away is words, places and figures.
  [
    'allowance: fallback',
    ['transition/recoveries'],
    [
      'turn/request/ask-model.ts',
      'if (isOverloaded && asker.canFallBack &&',
      'if (isOverloaded && (asker.canFallBack || true) &&',
    ],
  ],
  [
    'allowance: one more stop_hook_blocking',
    ['transition/allowances'],
    [
      'allowance.ts',
      "stop_hook_blocking: { paidFrom: 'own', laps: 8",
      "stop_hook_blocking: { paidFrom: 'own', laps: 9",
    ],
  ],
  [
    'result: stopped after the reply',
    ['order-of-evaluation'],
    ['turn/after-reply.ts', /    closeNotRun\(run, calls, `the run stopped[^\n]*\n/, ''],
  ],
  [
    'result: calls after a stop',
    ['terminal/natural'],
    ['turn/calls/batch.ts', '  phase.setResult(index, result)\n', ''],
  ],
  [
    'order: guards before the inbox',
    ['order-of-evaluation'],
    ['turn/prepare.ts', '[control, loweredLimits, standing, steering,', '[control, loweredLimits, steering, standing,'],
  ],
  [
    'prices: what fails before a request under a budget costs nothing',
    ['budget/garbage-figures'],
    ['turn/request/charge.ts', 'if (!isInDollars(context)) return', 'if (!isInDollars(context) || tokens > 0) return'],
  ],
  [
    'prices: a reply that they know no cost of is free',
    ['budget/garbage-figures'],
    [
      'turn/request/charge.ts',
      "if (answer.kind === 'none' && grant.nanos === 0)",
      "if (answer.kind === 'none' && grant.nanos >= 0)",
    ],
  ],
  [
    'prices: what fails when the options are checked is passed over',
    ['budget/garbage-figures'],
    ['settings/check-settings.ts', "if (answer.kind === 'broken')", "if (answer.kind === 'broken' && !isInDollars)"],
  ],
  [
    'prices: what was spent before counts for nothing after a reply',
    ['budget/spent-before'],
    [
      'turn/after-reply.ts',
      'const spentUsd = run.ports.spentBeforeUsd + committedUsd(run.spent)',
      'const spentUsd = committedUsd(run.spent)',
    ],
  ],
  [
    'event figures: none after an amount was reserved',
    ['live/figures'],
    [
      'turn/request/attempt.ts',
      '      if (reservation !== undefined && run.ports.isHeard()) tellFigures(run, emit, estimateRequest(run))\n',
      '',
    ],
  ],
  [
    'event figures: made for nobody',
    ['live/figures'],
    [
      'turn/request/attempt.ts',
      'if (run.ports.isHeard()) tellFigures(run, emit, plan.contextAfter',
      'tellFigures(run, emit, plan.contextAfter',
    ],
  ],
  [
    'event figures: what is left is below zero',
    ['live/figures'],
    ['turn/request/tell-figures.ts', 'null : Math.max(0, amount)', 'null : amount'],
  ],
  [
    'event figures: those of the agent that tells',
    ['live/figures'],
    [
      'turn/request/tell-figures.ts',
      'const { wholeLedger, deadline } = run.ports',
      'const { ledger: wholeLedger, deadline } = run.ports',
    ],
  ],
  [
    'event figures: the reply is not in the window',
    ['live/figures'],
    ['turn/ask.ts', ' : inputTokensOf(usage) + usage.output_tokens', ' : inputTokensOf(usage)'],
  ],
  [
    'settings: limits that were set are kept by nobody',
    ['live/settings'],
    ['turn/run.ts', '    this.ports.onSettings(settings, this.#context.settings)\n', ''],
  ],
  [
    'settings: the deadline stays where it was',
    ['live/settings'],
    ['iterate.ts', '    deadline.setLimit(limits.maxDurationMs)\n', ''],
  ],
  [
    'settings: a resumed run goes by its options',
    ['live/settings'],
    [
      'turn/run.ts',
      'this.#context = contextWith(context, start.spent.settings)',
      'this.#context = contextWith(context, null)',
    ],
  ],
  [
    'settings: the ledger of a resumed run has the limits of the options',
    ['live/settings'],
    ['iterate.ts', '  if (start.spent.settings !== null) limitLedgers(settings, ledger, context.sessionLedger)\n', ''],
  ],
  [
    'settings: a model that is gone is found out in the middle of a resume',
    ['live/settings'],
    ['resume.ts', '    contextWith(context, inForce)\n', ''],
  ],
  [
    'settings: what is set in a resumed run is held against the options alone',
    ['live/settings'],
    ['iterate.ts', 'let inForce = context.inForce ?? start.spent.settings', 'let inForce = start.spent.settings'],
  ],
  [
    'settings: what is set above the bound of a guard',
    ['live/settings'],
    ['settings/context-with.ts', 'Math.min(set ?? Infinity, bound)', '(set ?? Infinity)'],
  ],
  [
    'settings: a limit that was lowered is not looked at before a turn',
    ['live/settings'],
    ['turn/prepare.ts', '[control, loweredLimits, standing,', '[control, standing,'],
  ],
  [
    'settings: the fallback goes before a model that was set after it',
    ['live/settings'],
    [
      'settings/settings-change.ts',
      'change.model === undefined || !hasFallenBack ? isPastFallback : true',
      'hasFallenBack ? isPastFallback : isPastFallback',
    ],
  ],
  [
    'settings: of two changes of limits the first is lost',
    ['live/settings'],
    ['settings/settings-change.ts', 'limits: { ...first.limits, ...limits } })', 'limits })'],
  ],
  [
    'settings: a subagent begins without what was set',
    ['live/settings'],
    [
      'turn/calls/run-agent.ts',
      '      ...context.settings,\n',
      '      ...context.settings,\n      permissionMode: null,\n',
    ],
  ],
  [
    'inbox: an id that was taken is taken again',
    ['live/inbox'],
    ['inbox.ts', '    for (const id of ids) this.#known().add(id)\n', ''],
  ],
  [
    'inbox: a derived id that was taken before',
    ['live/inbox'],
    ['inbox.ts', 'while (this.#isKnown(id))', "while (id === '')"],
  ],
  [
    'inbox: what a past turn took is forgotten by a resume',
    ['live/inbox'],
    ['resume.ts', '...inboxIdsOf(folded.state.transcript), ...inboxIdsIn', '...inboxIdsIn'],
  ],
  [
    'inbox: what the open turn took is forgotten by a resume',
    ['live/inbox'],
    ['resume.ts', ', ...inboxIdsIn(folded.replay)]', ']'],
  ],
  ['inbox: what was not recorded is lost', ['live/inbox'], ['iterate.ts', '    inbox.giveBack()\n', '']],
  [
    'inbox: what is being recorded can be taken back',
    ['live/inbox'],
    ['inbox.ts', "    this.#waiting = all ? noMessages : this.#waiting.filter(({ kind }) => kind !== 'steer')\n", ''],
  ],
  [
    'inbox: nobody is told that a message is taken',
    ['live/inbox'],
    ['turn/run.ts', 'origin: kind, inboxId })', 'origin: kind })'],
  ],
  [
    'catching up: a reader has no turn',
    ['engine/reader'],
    ['loop.ts', /      await run\.ports\.catchUp\(\)[^\n]*\n/, ''],
  ],
  [
    'catching up: a slow reader is waited for',
    ['engine/reader'],
    ['event-queue.ts', 'size > 0 && patience > 0; patience--', 'size > 0 && patience > 0; patience -= 0'],
  ],
  [
    'catching up: a reader behind several generators has no turn',
    ['engine/reader'],
    ['event-queue.ts', 'const ticksPerEvent = 16', 'const ticksPerEvent = 2'],
  ],
  [
    'left: what there was before the lap',
    ['transition/allowances'],
    ['turn/run.ts', 'left: allowancesLeft(laps, limits)', 'left: allowancesLeft(before, limits)'],
  ],
  [
    'left: a number that is no JSON',
    ['transition/allowances'],
    ['allowance.ts', 'const turnsLeft = turns === Infinity ? null : turns', 'const turnsLeft = turns'],
  ],
  [
    'left: what a refill filled stays spent',
    ['transition/allowances'],
    [
      'allowance.ts',
      'allowances.stop_hook_blocking.laps - (sinceRefill.stop_hook_blocking ?? 0)',
      'allowances.stop_hook_blocking.laps - (inRun.stop_hook_blocking ?? 0)',
    ],
  ],
  [
    'broken stream: taken for a whole reply',
    ['decisions'],
    [
      'turn/request/attempt.ts',
      'streamError: streamError === undefined ? null : recordOf(streamError)',
      'streamError: streamError === undefined ? recordOf(streamError) && null : null',
    ],
  ],
  [
    'broken stream: charged as if it had told its usage',
    ['budget/hard-budget'],
    [
      'turn/request/attempt.ts',
      'const isNone = streamError !== undefined || isBillingUnknown',
      'const isNone = isBillingUnknown',
    ],
  ],
  [
    'broken stream: a compaction is not told that its answer broke off',
    ['budget/compaction-requests'],
    [
      'turn/compaction.ts',
      'message: asked.message, streamError: asked.streamError',
      'message: asked.message, streamError: null',
    ],
  ],
  [
    'values: a message that is handed in stays whose it was',
    ['tools/shared-values'],
    ['inbox.ts', 'content: messageContentOf(content)', 'content'],
  ],
  [
    'values: a prompt stays whose it was',
    ['tools/shared-values'],
    ['start.ts', 'content: messageContentOf(options.prompt)', 'content: options.prompt'],
  ],
  [
    "values: details stay the tool's",
    ['tools/shared-values'],
    ['tools/output.ts', 'details: jsonOf(details)', 'details: details as ReturnType<typeof jsonOf>'],
  ],
  [
    "values: blocks of a result stay the tool's",
    ['tools/shared-values'],
    [
      'tools/output.ts',
      'const shown = resultContentOf(given)',
      'const shown = given as ReturnType<typeof resultContentOf>',
    ],
  ],
  [
    "values: an input that a hook gives stays the hook's",
    ['tools/shared-values'],
    ['hooks/hook-context.ts', 'input: { value: jsonOf(value) }', 'input: { value }'],
  ],
  [
    "values: metadata that a hook gives stay the hook's",
    ['tools/shared-values'],
    ['hooks/hook-context.ts', 'metadata: jsonObjectOf(after.metadata)', 'metadata: after.metadata'],
  ],
  [
    "values: a reply stays the model's",
    ['tools/shared-values'],
    [
      'turn/request/attempt.ts',
      'if (reply !== undefined) return answeredAttempt(run, plan, grant, reply)',
      "if (reply !== undefined && settled.kind === 'value')\n      return answeredAttempt(run, plan, grant, { ...reply, message: settled.value.message })",
    ],
  ],
  [
    "values: blocks that are told while they come stay the model's",
    ['tools/shared-values'],
    [
      'turn/request/attempt.ts',
      'this.#partial.isClosed ? undefined : this.#blocks.told(given)',
      'this.#partial.isClosed ? undefined : given',
    ],
  ],
  [
    'ids: while a call streams it is told by the id of the service',
    ['tools/call-ids'],
    [
      'turn/request/attempt.ts',
      'this.#partial.isClosed ? undefined : this.#blocks.told(given)',
      'this.#partial.isClosed ? undefined : given',
    ],
  ],
  [
    'another program: what is new acts before a request that is on record',
    ['steps/another-program'],
    ['turn/request/is-asked.ts', 'return run.ports.isResumed &&', 'return run.spent.request < 0 &&'],
  ],
  [
    'another program: what is new acts before a turn that is on record',
    ['steps/recorded-calls'],
    [
      'turn/run.ts',
      'return this.ports.isResumed && this.isRecorded(`model:',
      'return this.#writes < 0 && this.isRecorded(`model:',
    ],
  ],
  [
    'another program: a lap that is on record is to be paid again',
    ['steps/recorded-calls'],
    ['decide.ts', " > 0 || run.turnEnd === 'passed'", ' > 0'],
  ],
  [
    'another program: a compaction that is done is passed over',
    ['budget/compaction-requests'],
    [
      'turn/compaction.ts',
      'const isDone = run.ports.isResumed && isOnRecord',
      'const isDone = run.writes < 0 && isOnRecord',
    ],
  ],
  [
    'composite: its parts are left to be replayed once it is answered',
    ['steps/memory'],
    [
      'steps/memory.ts',
      'if (options.composite === true) this.#dropParts(key)',
      'if (options.composite === true) void this.#dropParts',
    ],
  ],
  [
    'another program: a call that is done is invalid now',
    ['steps/another-program'],
    [
      'turn/calls/prepare-call.ts',
      'return phase.recorded(index) === undefined\n',
      'return phase.recorded(index) === undefined || index >= 0\n',
    ],
  ],
  [
    'another program: a call before one on record runs now',
    ['steps/recorded-calls'],
    [
      'turn/calls/prepare-call.ts',
      "recorded === undefined && phase.batchEnd === 'passed')",
      "recorded === undefined && phase.batchEnd === 'passed' && index < 0)",
    ],
  ],
  [
    'another program: a subagent on record is one too many',
    ['steps/recorded-calls'],
    ['turn/calls/prepare-call.ts', '>= maxSubagents && recorded === undefined)', '>= maxSubagents)'],
  ],
  [
    'another program: a leaf call on record is a subagent now',
    ['steps/recorded-calls'],
    [
      'turn/calls/prepare-call.ts',
      "if (recorded !== undefined && isAgent !== (recorded === 'agent'))",
      "if (recorded !== undefined && isAgent && recorded === 'leaf' && index < 0)",
    ],
  ],
  [
    'another program: new rules are asked about calls on record',
    ['steps/another-program'],
    ['turn/calls/ask-permission.ts', "  if (position === 'passed' && !run.isRecorded(name)) return allowed\n", ''],
  ],
  [
    'another program: new hooks are asked about what is on record',
    ['steps/another-program'],
    ['turn/run-hooks.ts', "    if (this.#position === 'passed' && !this.#run.isRecorded(name)) return undefined\n", ''],
  ],
  [
    'another program: an approval on record is waited for again',
    ['steps/recorded-calls'],
    ['turn/calls/ask-permission.ts', "onAsk === 'end' && !run.isRecorded(name))", "onAsk === 'end')"],
  ],
  [
    'another program: fewer retries cut attempts on record off',
    ['steps/recorded-calls'],
    [
      'turn/request/ask-model.ts',
      'return run.isRecorded(`${name}.${attempt + 1}`)',
      'return run.isRecorded(`${name}.${attempt - attempt}`)',
    ],
  ],
  [
    'another program: what hooks said tells conversations apart',
    ['steps/another-program'],
    [
      'transcript.ts',
      "new Set<UserOrigin>(['hook', 'loop', 'interruption'])",
      "new Set<UserOrigin>(['loop', 'interruption'])",
    ],
  ],
  [
    'another program: a mismatch in a subagent is a result',
    ['steps/another-program'],
    ['turn/calls/run-agent.ts', "    if (error?.code === 'step_mismatch') throw error\n", ''],
  ],
  [
    'another program: a mismatch closes the record',
    ['steps/another-program'],
    ['finish.ts', "if (code !== 'step_mismatch') await", 'await'],
  ],
  [
    'another program: nothing is heard while records of hooks that are gone are left',
    ['steps/another-program'],
    ['steps/memory.ts', '    this.#live = true\n', ''],
    [
      'steps/memory.ts',
      "    if (lap.scope === '' && this.#options.recordedOnly !== true) this.#answers?.clear()\n",
      '',
    ],
  ],
  [
    'time: a deadline that has passed lets a request begin',
    ['steps/resumed-time'],
    ['cancel/deadline.ts', 'if (times.limitMs <= times.usedMs) {', 'if (times.limitMs < 0) {'],
  ],
  [
    'time: goes on while another still waits for a person',
    ['tools/approvals'],
    ['cancel/deadline.ts', 'if (--this.#waiting > 0) return', 'this.#waiting = 0'],
  ],
  [
    'time: what no process ran counts',
    ['steps/resumed-time'],
    [
      'steps/memory.ts',
      'this.#idleMs = this.#clock.now() - lastMomentOf(this.records)',
      'this.#idleMs = lastMomentOf([])',
    ],
  ],
  [
    'held back: a subagent may spend what the last answer of its parent costs',
    ['budget/held-back'],
    ['turn/calls/run-agent.ts', '    ...(heldBack !== undefined && { heldBack }),\n', ''],
  ],
  [
    'compaction: asks as often as it likes',
    ['budget/compaction-requests'],
    ['turn/compaction.ts', 'number > compactionRequests ?', 'number > 3 * compactionRequests ?'],
  ],
  [
    'compaction: the run goes on while a question is under way',
    ['budget/compaction-requests'],
    ['turn/compaction.ts', '    await Promise.all(this.#asking)\n', ''],
  ],
  [
    'compaction: one that is over asks on',
    ['budget/compaction-requests'],
    ['turn/compaction.ts', "    if (this.#isOver) return { kind: 'aborted' }\n", ''],
  ],
  [
    'subagent: hooks of the run',
    ['tools/subagents'],
    [
      'turn/calls/run-agent.ts',
      '(ofTheRun.has(trigger) ? [] : hooks.for',
      "(ofTheRun.has(trigger) && toolName === '' ? [] : hooks.for",
    ],
  ],
  [
    'signals: a turn begins with those of the last',
    ['decisions'],
    ['turn/run.ts', '    this.#continuation = ExecutionContinuation.fresh()\n', ''],
  ],
  [
    'signals: at equal numbers a limit outranks a person',
    ['stop/signals'],
    ['stop/signals.ts', "order === 0 && a.reason === 'user_requested' &&", 'order === 0 && order > 0 &&'],
  ],
  [
    'override: a guard that was overridden is so for ever',
    ['decisions'],
    [
      'turn/checkpoint.ts',
      '      if (wasOverridden) run.update({ overridden: overridden.filter((other) => other !== id) })\n',
      '',
    ],
  ],
  [
    'override: a guard that was overridden is silent after the tools too',
    ['decisions'],
    ['turn/checkpoint.ts', "(wasOverridden && checkpoint === 'before_turn')", 'wasOverridden'],
  ],
  [
    "override: a request that ends with the model's own words",
    ['decisions'],
    ['decide.ts', 'isAgain || isSpeechless || isUsedUp', 'isAgain || isUsedUp'],
  ],
  [
    'override: a request to go on that was not granted stands',
    ['decisions'],
    ['finish.ts', '  run.setContinuation(run.continuation.withContinuationRequested(false))\n', ''],
  ],
  [
    'no progress: a message from outside is none',
    ['guards/guards'],
    ['turn/checkpoint.ts', '  run.update({ recentTurns: [] })\n', ''],
  ],
  [
    'no progress: the count goes on after a nudge',
    ['transition/turns'],
    ['decide.ts', '  run.update({ recentTurns: [] })\n', ''],
  ],
  [
    'no progress: what a tool means is answered with a nudge',
    ['guards/guards'],
    ['decide.ts', "draft.reason !== 'no_progress' || draft.raisedBy.length === 0", "draft.reason !== 'no_progress'"],
  ],
  [
    'wrap up: an abort by the budget asks for a last answer',
    ['decisions'],
    ['turn/endings.ts', 'budgetSignal(run, source), { wrapsUp: false })', 'budgetSignal(run, source))'],
  ],
  [
    'wrap up: the last answer may be overridden',
    ['decisions'],
    ['turn/finish-wrap-up.ts', 'signal, { overridable: false }))', 'signal))'],
  ],
  [
    'retry: a wait of any length',
    ['callbacks'],
    ['turn/request/ask-model.ts', ' || delayMs > longestRetryWaitMs)', ')'],
  ],
  [
    'retry: overloads with others between',
    ['transition/recoveries'],
    [
      'turn/request/ask-model.ts',
      "error.kind === 'overloaded' ? overloads + 1 : 0",
      "error.kind === 'overloaded' ? overloads + 1 : overloads",
    ],
  ],
  [
    'budget: a reply that was cut at what was left escalates',
    ['budget/hard-budget'],
    [
      'turn/recover.ts',
      '  if (grant.lowered !== null) {\n',
      '  if (grant.lowered !== null && grant.maxTokens < 0) {\n',
    ],
    [
      'turn/after-reply.ts',
      "(message.stop_reason === 'max_tokens' && grant.lowered === null)",
      "message.stop_reason === 'max_tokens'",
    ],
  ],
  [
    'budget: more tokens than were asked for are passed over',
    ['callbacks'],
    ['turn/after-reply.ts', 'run.spent.totalTokens > run.context.settings.maxTokens ?', 'run.spent.totalTokens < 0 ?'],
  ],
  [
    'budget: an image that was removed is counted on',
    ['budget/garbage-figures'],
    ['turn/recover.ts', '      run.update({ counted: noCount })\n', ''],
  ],
  [
    'budget: an aborted attempt is free',
    ['budget/hard-budget'],
    [
      'turn/request/attempt.ts',
      '      const charge = unknownCharge(run, plan, grant)\n',
      '      const charge = noCharge(plan.model)\n',
    ],
  ],
  [
    'budget: a refusal by the service is charged',
    ['budget/hard-budget'],
    [
      'turn/request/attempt.ts',
      "return error.billed === 'nothing' ? noCharge(plan.model) : unknownCharge",
      "return error.billed === 'nothing' && grant.tokens < 0 ? noCharge(plan.model) : unknownCharge",
    ],
  ],
  [
    'budget: an open attempt of a run without a limit is forgotten',
    ['budget/garbage-figures'],
    ['turn/request/attempt.ts', '  if (intent.tokens === 0) run.ports.ledger.restore(charge, charge)\n', ''],
  ],
  [
    'budget: what was spent before a limit was set is forgotten',
    ['live/settings'],
    ['turn/request/attempt.ts', '        else ledger.restore(charge, charge.known ? nothing : charge)\n', ''],
  ],
  [
    'budget: money is rounded down',
    ['budget/ledger'],
    ['budget/prices.ts', 'nearest : Math.ceil(exact)', 'nearest : Math.floor(exact)'],
  ],
  [
    'budget: the last answer is paid from what is left',
    ['budget/hard-budget'],
    [
      'turn/request/reserve.ts',
      'amount.nanos + held.nanos <= available.nanos && amount.tokens + held.tokens <= available.tokens',
      'amount.nanos <= available.nanos && amount.tokens <= available.tokens && held.nanos >= 0',
    ],
  ],
  [
    'budget: each run of a session has all of it',
    ['engine/session'],
    [
      'engine.ts',
      '  #checkCost(running: Loop): void {\n',
      '  #checkCost(running: Loop): void {\n    if (running.hasStarted) return\n',
    ],
    ['engine.ts', 'const ledger = this.#ledger.branch(', 'const ledger = Ledger.create('],
    ['engine.ts', 'const spentBeforeUsd = usdOf(this.#ledger.figures().settled.nanos)', 'const spentBeforeUsd = 0'],
  ],
  [
    'session: a stop that came too late stops the next run',
    ['engine/session'],
    ['engine.ts', '    this.#inbox.takeSignals()\n', ''],
  ],
  [
    'session: what was set too late is taken by the next run',
    ['live/engine-settings'],
    ['engine.ts', '    this.#inbox.takeSettings()\n', ''],
  ],
  [
    'session: what was set holds for one run',
    ['live/engine-settings'],
    ['engine.ts', '    this.#inForce = inForceAfter(this.#inForce, checked, false)\n', ''],
  ],
  [
    'session: a new prompt aborts as a person would',
    ['engine/query'],
    ['engine.ts', "this.#current.loop.abort('interrupt')", 'this.#current.loop.abort()'],
  ],
  [
    'orphans: a writing tool does not wait for one that is deaf',
    ['engine/session'],
    [
      'turn/calls/execute-call.ts',
      'call.readOnly ? undefined : orphanedTools.settled()',
      'call.index >= 0 ? undefined : orphanedTools.settled()',
    ],
  ],
  [
    'abort: the last cause counts',
    ['tools/abort'],
    ['cancel/abort.ts', '    if (this.#cause !== undefined) return\n', ''],
  ],
  [
    'abort: the grace time is twice as long',
    ['tools/abort'],
    ['cancel/settle.ts', 'timers.after(graceMs, leave)', 'timers.after(2 * graceMs, leave)'],
  ],
  [
    'tools: a reading call that a hook made a writing one runs beside others',
    ['tools/executor'],
    [
      'turn/calls/batch.ts',
      "call.kind !== 'run' || call.inspected.parallelSafe)",
      "call.kind !== 'run' || call.inspected.index >= 0)",
    ],
  ],
  [
    'tools: a predicate that throws says that a call reads',
    ['tools/executor'],
    [
      'turn/calls/inspect-call.ts',
      '    return isReading === true\n  } catch {\n    return false',
      '    return isReading === true\n  } catch {\n    return true',
    ],
  ],
  [
    'tools: a call starts early though a hook wants to see it',
    ['tools/executor'],
    [
      'turn/request/start-early.ts',
      " || hooks.for('beforeToolUse', call.name).length > 0)",
      ' || hooks.all.length < 0)',
    ],
  ],
  [
    'tools: a call starts early though rules give it another input',
    ['tools/executor'],
    ['turn/request/start-early.ts', ' && decision.updatedInput === undefined', ''],
  ],
  [
    'tools: a further batch starts beside a call that waits',
    ['tools/approvals'],
    ['turn/calls/batch.ts', '    if (phase.pending.length > 0) return false\n', ''],
  ],
  [
    'permissions: rules that throw deny nothing',
    ['hooks/tool-hooks'],
    [
      'turn/calls/ask-permission.ts',
      '    return failedRules(error).message\n',
      '    return failedRules(error).message.slice(0, 0) || undefined\n',
    ],
  ],
  [
    "permissions: a hook's ask lets an allowed call run",
    ['hooks/tool-hooks'],
    [
      'turn/calls/ask-permission.ts',
      "hookDecision === 'ask' && decision.behavior === 'allow'",
      "hookDecision === 'ask' && decision.behavior === 'ask'",
    ],
  ],
  [
    'permissions: an input that a person changed is not checked',
    ['tools/approvals'],
    [
      'turn/calls/prepare-call.ts',
      "      if (changed.kind === 'invalid') return invalidCall(phase, changed, changed.message)\n",
      "      if (changed.kind === 'invalid') return ready(run, phase, { ...inspected, input: decision.updatedInput })\n",
    ],
  ],
  [
    'permissions: deny rules are not asked about an input that a person or a rule gave',
    ['hooks/tool-hooks', 'tools/approvals'],
    [
      'turn/calls/prepare-call.ts',
      'after(denyUpdated(run, changed, phase.callStart(inspected.index)), (message) =>',
      'after(changed.index < 0 ? denyUpdated(run, changed, phase.callStart(inspected.index)) : undefined, (message) =>',
    ],
  ],
  [
    'hooks: in the order in which they were registered',
    ['hooks/lifecycle'],
    [
      'hooks/registry.ts',
      '(b.hook.priority ?? 0) - (a.hook.priority ?? 0)',
      '(b.hook.priority ?? 0) * 0 - (a.hook.priority ?? 0) * 0',
    ],
  ],
  [
    'hooks: others are asked about a call that one denied',
    ['hooks/tool-hooks'],
    [
      'turn/run-hooks.ts',
      'outcome.blocked !== undefined || outcome.aborted !== undefined ? true',
      'outcome.aborted !== undefined ? true',
    ],
  ],
  [
    'hooks: a transcript is replaced while calls have no result',
    ['hooks/replaced-transcript'],
    ['replaced-messages.ts', 'if (openCallsOf(before).length > 0)', 'if (openCallsOf(before).length < 0)'],
  ],
  [
    "hooks: a replaced transcript may end with the model's words",
    ['hooks/replaced-transcript'],
    [
      'replaced-messages.ts',
      'if (endsWithUser(before.messages()) && !endsWithUser(messages))',
      'if (endsWithUser([]) && !endsWithUser(messages))',
    ],
  ],
  [
    'stop hooks: an empty reason blocks',
    ['transition/turns'],
    ['turn/after-answer.ts', " && outcome.block.trim() !== '')", ')'],
  ],
  [
    'stop hooks: are never told that they sent the model back',
    ['transition/turns'],
    ['turn/after-answer.ts', 'from.update({ stopHookActive: true })', 'from.update({ stopHookActive: false })'],
  ],
  [
    'compaction: a conversation that no service takes is one',
    ['garbage'],
    ['turn/compaction.ts', '    checkReplaced(transcript, shown)\n', '    void transcript\n'],
  ],
  [
    'compaction: an abort that cuts one is passed over',
    ['budget/compaction-requests'],
    ['turn/compaction.ts', "  if (aborted !== undefined) return abortDraft(run, aborted, 'streaming')\n", ''],
  ],
  [
    'compaction: models that were not named are asked',
    ['budget/compaction-requests'],
    [
      'turn/compaction.ts',
      'if (model === undefined || isNamed(run, model)) return undefined',
      'if (model === undefined || isNamed(run, model) || system.length > 0) return undefined',
    ],
  ],
  [
    'subagent: more turns than its parent',
    ['tools/subagents'],
    [
      'turn/calls/run-agent.ts',
      'const maxTurns = Math.min(child.maxTurns ?? context.settings.maxTurns, context.settings.maxTurns)',
      'const maxTurns = child.maxTurns ?? context.settings.maxTurns',
    ],
  ],
  [
    "subagent: the guard on its parent's turns counts its own",
    ['tools/subagents'],
    [
      'turn/calls/run-agent.ts',
      'context.guards.filter(({ guard }) => isForAgents(guard))',
      'context.guards.filter(({ guard }) => isForAgents(guard) || guard.name.length > 0)',
    ],
  ],
  [
    'certificate: a hook overrides no guard',
    ['certificate'],
    [
      'certificate.ts',
      'const granted = (options.hooks?.length ?? 0) > 0 ? 1 : 0',
      'const granted = (options.hooks?.length ?? 0) > 0 ? 0 : 0',
    ],
  ],
  [
    'guards event: one that fails breaks the run',
    ['live/guards'],
    ['turn/tell-guards.ts', '  } catch {\n', '  } catch (error) {\n    if (error !== undefined) throw error\n'],
  ],
  [
    'lap: told without its overridden signals on record',
    ['decisions'],
    [
      'turn/run.ts',
      'this.ports.steps.lap(overridden === undefined ? lap : { ...lap, overridden })',
      'this.ports.steps.lap(overridden === undefined ? lap : { ...lap })',
    ],
  ],
].map(([name, tests, ...changes]) => ({ name: String(name), tests, changes }))
