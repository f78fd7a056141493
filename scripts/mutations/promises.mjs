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
    ['call-ids.ts', 'if (!isTaken(id)) return id', 'if (id.length > 0) return id'],
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
    ['turn/ask.ts', 'digest: () => run.transcript.digest().toString(36)', "digest: () => ''"],
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
    ['turn/request/attempt.ts', 'partial.isClosed ? undefined : blocks.told(given)', 'blocks.told(given)'],
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
    ['turn/calls/tool-phase.ts', 'return this.#isRecordedFrom(index)', 'return this.#isRecordedFrom(0 * index)'],
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
].map(([name, tests, ...changes]) => ({ name: String(name), tests, changes }))
