// Mutations that the promise tests of core must see without the exploration: each takes one promise away.
// [name, test files that hold the promise, [file, what stands there, what stands there instead]...]
export const promises = [
  [
    "figures: a subagent's unknown cost",
    ['tools/subagents'],
    ['turn/child.ts', 'unknownNanos: spent.unknownNanos + child.unknownNanos', 'unknownNanos: spent.unknownNanos'],
  ],
  [
    'figures: what a compaction cost',
    ['budget/compaction'],
    ['turn/context.ts', 'charge === undefined ? current : withSpent(', 'charge !== null ? current : withSpent('],
  ],
  [
    "figures: a compaction's usage is not the run's own",
    ['budget/compaction'],
    ['turn/context.ts', 'chargeOf(current.spent, charge, false)', 'chargeOf(current.spent, charge, true)'],
  ],
  [
    'digest: of a call without its input',
    ['steps/resume'],
    ['turn/run-call.ts', "digestOf(`${call.name} ${JSON.stringify(input) ?? ''}`)", 'digestOf(call.name)'],
  ],
  [
    'ledger: open reservations after a resume',
    ['steps/resume'],
    ['steps/resume.ts', 'for (const amount of open.values()) {', 'for (const amount of [] as Amount[]) {'],
  ],
  [
    'sync: of a call that writes',
    ['steps/driver'],
    ['turn/run-call.ts', "sync: readOnly ? 'none' : 'intent'", "sync: 'none'"],
  ],
  [
    'sync: of a request under a limit',
    ['steps/driver'],
    ['turn/attempt.ts', "sync: ports.ledger.limited ? 'intent' : 'none'", "sync: 'none'"],
  ],
  [
    'break: "not run" for a call that had begun',
    ['steps/driver'],
    [
      'turn/close-calls.ts',
      'begun.has(id) ? unknownOutcome : notRun(',
      'begun.has(`!${id}`) ? unknownOutcome : notRun(',
    ],
  ],
  [
    'break: "unknown" for a call that had ended',
    ['steps/driver'],
    ['turn/close-calls.ts', 'results.get(id) ?? (begun', 'results.get(`!${id}`) ?? (begun'],
  ],
  ['break: what a turn before began', ['steps/driver'], ['turn/act.ts', '  ports.progress.begun.clear()\n', '']],
  [
    'time: the whole deadline again on a resume',
    ['steps/resume'],
    [
      'iterate.ts',
      'ports.settings.maxDurationMs - (state.spent.now - state.spent.startedAt)',
      'ports.settings.maxDurationMs',
    ],
  ],
  [
    'time: the whole deadline again in a run that carries on',
    ['transition/carry'],
    [
      'iterate.ts',
      'ports.settings.maxDurationMs - (state.spent.now - state.spent.startedAt)',
      'ports.settings.maxDurationMs',
    ],
  ],
  [
    'fallback: what the first model counted is kept',
    ['transition/recoveries'],
    ['turn/recover.ts', 'return withSpent(state, { counted: { tokens: 0, length: 0 } })', 'return state'],
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
    ['turn/checkpoint.ts', "ports.inbox.takeMessages(place === 'end')", 'ports.inbox.takeMessages(true)'],
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
    ['turn/batch.ts', 'stops: stops.toSorted((a, b) => a.index - b.index)', 'stops'],
  ],
  [
    'stops: the last one wins',
    ['order-of-evaluation'],
    ['turn/act.ts', 'const stopped = acted.stops[0]', 'const stopped = acted.stops.at(-1)'],
  ],
  [
    "subagent: always told 'parent'",
    ['tools/subagents'],
    [
      'turn/child.ts',
      "abort.abort(cause === 'time' || cause === 'budget' ? cause : 'parent')",
      "abort.abort('parent')",
    ],
  ],
  [
    "subagent: told its parent's own cause",
    ['tools/subagents'],
    ['turn/child.ts', "abort.abort(cause === 'time' || cause === 'budget' ? cause : 'parent')", 'abort.abort(cause)'],
  ],
  [
    'stop hooks: the last prevention wins',
    ['order-of-evaluation'],
    ['turn/settle.ts', 'prevented ??= {', 'prevented = {'],
  ],
  [
    'tool hooks: the last prevention wins',
    ['order-of-evaluation'],
    [
      'turn/finish-call.ts',
      'for (const { hook, outcome } of after.outcomes) {',
      'for (const { hook, outcome } of after.outcomes.toReversed()) {',
    ],
  ],
].map(([name, tests, ...changes]) => ({ name: String(name), tests, changes }))
