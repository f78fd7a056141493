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
    ['turn/defend-context.ts', "run.update(chargeOf(run.spent, charge, 'compaction'))", 'void charge'],
  ],
  [
    "figures: a compaction's usage is not the run's own",
    ['budget/compaction'],
    ['turn/defend-context.ts', "chargeOf(run.spent, charge, 'compaction')", "chargeOf(run.spent, charge, 'turn')"],
  ],
  [
    'digest: of a call without its input',
    ['steps/resume'],
    ['turn/calls/run-call.ts', "digestOf(`${call.name} ${JSON.stringify(input) ?? ''}`)", 'digestOf(call.name)'],
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
    'break: what hooks said in a turn before is told again',
    ['steps/driver'],
    ['turn/run.ts', '    this.tools = undefined\n    this.#written()', '    this.#written()'],
  ],
  [
    'break: what hooks had not seen is told',
    ['tools/broken-runs'],
    ['turn/calls/finish-call.ts', 'hasHooksAfter(run, ran) ? withheld(ran.result) : ran.result', 'ran.result'],
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
    [
      'iterate.ts',
      'run.settings.maxDurationMs - (state.spent.now - state.spent.startedAt)',
      'run.settings.maxDurationMs',
    ],
  ],
  [
    'time: the whole deadline again in a run that carries on',
    ['transition/carry'],
    [
      'iterate.ts',
      'run.settings.maxDurationMs - (state.spent.now - state.spent.startedAt)',
      'run.settings.maxDurationMs',
    ],
  ],
  [
    'fallback: what the first model counted is kept',
    ['transition/recoveries'],
    ['turn/recover.ts', 'run.update({ counted: { tokens: 0, length: 0 } })', 'void run'],
  ],
  [
    'inbox: follow-ups before steering',
    ['order-of-evaluation'],
    [
      'inbox.ts',
      'const taken = all ? messages :',
      'const taken = all ? messages.toSorted((a, b) => (a.kind < b.kind ? -1 : a.kind > b.kind ? 1 : 0)) :',
    ],
  ],
  [
    'inbox: steering before follow-ups at the end',
    ['order-of-evaluation'],
    [
      'inbox.ts',
      'const taken = all ? messages :',
      'const taken = all ? messages.toSorted((a, b) => (a.kind > b.kind ? -1 : a.kind < b.kind ? 1 : 0)) :',
    ],
  ],
  [
    'inbox: the last one first',
    ['order-of-evaluation'],
    [
      'inbox.ts',
      'const taken = all ? messages : messages.filter',
      'const taken = all ? messages.toReversed() : messages.toReversed().filter',
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
].map(([name, tests, ...changes]) => ({ name: String(name), tests, changes }))
