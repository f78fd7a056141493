// Mutations of a run that resumes from a record, or continues one that ended.
// [name, test files that check the promise, [file, text in it, replacement]...]
export const promisesOfResumes = [
  [
    'digest: of a call without its input',
    ['steps/resume'],
    [
      'tool-calls/run-call.ts',
      "digestOf(`${call?.name ?? ''} ${JSON.stringify(call?.input) ?? ''}`)",
      "digestOf(call?.name ?? '')",
    ],
  ],
  [
    'ledger: open reservations after a resume',
    ['steps/resume'],
    ['steps/fold.ts', 'of past.folded().open) {', 'of past.folded().open.slice(0, 0)) {'],
  ],
  [
    'sync: of a call that writes',
    ['steps/driver'],
    ['tool-calls/run-call.ts', "sync: readOnly ? 'none' : 'intent'", "sync: 'none'"],
  ],
  [
    'sync: of a request under a limit',
    ['steps/driver'],
    ['request/attempt.ts', "sync: ledger.limited ? 'intent' : 'none'", "sync: 'none'"],
  ],
  [
    'time: the whole deadline again on a resume',
    ['steps/resume'],
    ['api/iterate.ts', 'usedMs: reached - state.spent.startedAt,', 'usedMs: reached - reached,'],
  ],
  [
    'time: the whole deadline again in a run that carries on',
    ['transition/continued-runs'],
    ['api/iterate.ts', 'usedMs: reached - state.spent.startedAt,', 'usedMs: reached - reached,'],
  ],
  [
    'carry: once-a-run laps',
    ['transition/continued-runs'],
    [
      'api/start.ts',
      'inRun: turnBegins ? laps.inRun : withTurnBegun(laps.inRun) }',
      'inRun: withTurnBegun({ next_turn: (laps.inRun.next_turn ?? 0) - (turnBegins ? 1 : 0), user_input: laps.inRun.user_input ?? 0 }) }',
    ],
  ],
  [
    'carry: turns',
    ['transition/continued-runs'],
    [
      'api/start.ts',
      'inRun: turnBegins ? laps.inRun : withTurnBegun(laps.inRun) }',
      'inRun: { ...laps.inRun, next_turn: 0 } }',
    ],
  ],
  [
    'carry: a turn that was granted and never asked is paid twice',
    ['transition/continued-runs'],
    [
      'api/start.ts',
      'inRun: turnBegins ? laps.inRun : withTurnBegun(laps.inRun) }',
      'inRun: withTurnBegun(laps.inRun) }',
    ],
  ],
  [
    'carry: the first turn is free',
    ['transition/continued-runs'],
    ['api/start.ts', 'inRun: turnBegins ? laps.inRun : withTurnBegun(laps.inRun) }', 'inRun: laps.inRun }'],
  ],
  [
    'carry: refilled allowances',
    ['transition/continued-runs'],
    ['api/start.ts', 'laps: { ...laps, sinceRefill: {}, inRun: turnBegins', 'laps: { ...laps, inRun: turnBegins'],
  ],
  [
    'carry: unknown cost',
    ['transition/continued-runs'],
    ['api/start.ts', '    nanos,\n    unknownNanos,\n', '    nanos,\n    unknownNanos: 0 * unknownNanos,\n'],
  ],
  [
    'time: what the open turn took is not counted on a resume',
    ['steps/resume'],
    ['api/iterate.ts', 'Math.max(state.spent.now, surroundings.recordedUntil ?? 0)', 'state.spent.now'],
  ],
  [
    'time: the clock moves back where a shorter call stands behind a longer one',
    ['terminal/figures'],
    ['run/run.ts', 'if (now > this.spent.now) this.#setNow', 'this.#setNow'],
  ],
  [
    'time: the limit stands still for ever once a person was waited for',
    ['tools/approvals'],
    ['tool-calls/ask-permission.ts', '    deadline.resume()\n', ''],
  ],
  [
    'time: a run that is resumed began when its last lap ended',
    ['steps/resume'],
    [
      'steps/fold.ts',
      'spent: { ...last.spent, startedAt }',
      'spent: { ...last.spent, startedAt: Math.max(startedAt, last.spent.now) }',
    ],
  ],
  [
    'resume: laps of a subagent are folded into the run',
    ['steps/resume'],
    [
      'steps/fold.ts',
      "if (record.type !== 'lap' || record.lap.scope !== '') continue",
      "if (record.type !== 'lap') continue",
    ],
  ],
  [
    'digest: of a request without its conversation',
    ['steps/resume'],
    ['loop/ask.ts', 'return this.#run.transcript.digest().toString(36)', "return ''"],
  ],
  [
    'ledger: what past turns cost after a resume',
    ['steps/resume'],
    ['steps/fold.ts', '    this.#settled = addAmounts(this.#settled, amountOf(charge))\n', ''],
  ],
  [
    'ledger: unknown cost that a run carries on',
    ['transition/continued-runs'],
    ['api/iterate.ts', 'nanos: nanos + unknownNanos, tokens', 'nanos, tokens'],
  ],
  ['carry: the token target begins anew', ['transition/continued-runs'], ['api/start.ts', '    tracker,\n', '']],
  [
    'resume: a call that had not begun is not asked about',
    ['steps/another-program'],
    ['run/tool-phase.ts', 'return this.#positionOf(index)', 'return this.#positionOf(0 * index)'],
  ],
  [
    'another program: what is new acts before a request that is on record',
    ['steps/another-program'],
    ['run/run.ts', 'return run.ports.isResumed &&', 'return run.spent.request < 0 &&'],
  ],
  [
    'another program: what is new acts before a turn that is on record',
    ['steps/recorded-calls'],
    [
      'run/run.ts',
      'return this.ports.isResumed && this.isRecorded(`model:',
      'return this.#writes < 0 && this.isRecorded(`model:',
    ],
  ],
  [
    'another program: a lap that is on record is to be paid again',
    ['steps/recorded-calls'],
    ['loop/decide.ts', " > 0 || run.turnEnd === 'passed'", ' > 0'],
  ],
  [
    'another program: a compaction that is done is passed over',
    ['budget/compaction-requests'],
    [
      'loop/compaction.ts',
      '  if (!run.ports.isResumed) return undefined\n  const trigger',
      '  if (run.writes >= 0) return undefined\n  const trigger',
    ],
  ],
  [
    'composite: its parts are left to be replayed once it is answered',
    ['steps/memory'],
    [
      'steps/durable-step-engine.ts',
      'if (options.composite === true) answers.abandon(`${key}/`)',
      'if (options.composite === true) void answers.abandon',
    ],
  ],
  [
    'another program: a call that is done is invalid now',
    ['steps/another-program'],
    [
      'tool-calls/prepare-call.ts',
      'return phase.recorded(index) === undefined\n',
      'return phase.recorded(index) === undefined || index >= 0\n',
    ],
  ],
  [
    'another program: a call before one on record runs now',
    ['steps/recorded-calls'],
    [
      'tool-calls/prepare-call.ts',
      "phase.recorded(inspected.index) === undefined && phase.batchEnd === 'passed')",
      "phase.recorded(inspected.index) === undefined && phase.batchEnd === 'passed' && inspected.index < 0)",
    ],
  ],
  [
    'another program: a subagent on record is one too many',
    ['steps/recorded-calls'],
    [
      'tool-calls/prepare-call.ts',
      'if (!isAgent || recorded !== undefined) return begin',
      'if (!isAgent) return begin',
    ],
  ],
  [
    'another program: a subagent on record is a leaf call now',
    ['steps/recorded-calls'],
    [
      'tool-calls/prepare-call.ts',
      "if (recorded === 'agent' && !isAgent)",
      "if (recorded === 'agent' && !isAgent && index < 0)",
    ],
  ],
  [
    'another program: new rules are asked about calls on record',
    ['steps/another-program'],
    ['tool-calls/ask-permission.ts', "  if (position === 'passed' && !run.isRecorded(name)) return allowed\n", ''],
  ],
  [
    'another program: new hooks are asked about what is on record',
    ['steps/another-program'],
    [
      'request/run-hooks.ts',
      "    if (this.#position === 'passed' && !this.#run.isRecorded(name)) return undefined\n",
      '',
    ],
  ],
  [
    'another program: an approval on record is waited for again',
    ['steps/recorded-calls'],
    ['tool-calls/ask-permission.ts', 'if (!run.isRecorded(name)) {', 'if (!run.isRecorded(name) || endsRun) {'],
  ],
  [
    'another program: fewer retries cut attempts on record off',
    ['steps/recorded-calls'],
    [
      'request/ask-model.ts',
      'return run.isRecorded(`${name}.${attempt + 1}`)',
      'return run.isRecorded(`${name}.${attempt - attempt}`)',
    ],
  ],
  [
    'another program: messages of hooks distinguish conversations',
    ['steps/another-program'],
    [
      'conversation/transcript.ts',
      "new Set<UserOrigin>(['hook', 'loop', 'interruption'])",
      "new Set<UserOrigin>(['loop', 'interruption'])",
    ],
  ],
  [
    'another program: a mismatch in a subagent is a result',
    ['steps/another-program'],
    ['tool-calls/run-agent.ts', "    if (error?.code === 'step_mismatch') throw error\n", ''],
  ],
  [
    'another program: a mismatch closes the record',
    ['steps/another-program'],
    ['loop/finish.ts', "if (code === 'step_mismatch') return true\n", ''],
  ],
  [
    'time: steps that follow each other at once starve timers',
    ['steps/starved-timers'],
    ['steps/durable-step-engine.ts', 'pause === undefined ? result : pause.then(() => result)', 'result'],
  ],
  [
    'another program: nothing is heard while records of hooks that are gone are left',
    ['steps/another-program'],
    ['steps/durable-step-engine.ts', '    answers.goLive()\n', ''],
    [
      'steps/durable-step-engine.ts',
      "    if (lap.scope === '' && this.#options.recordedOnly !== true) this.#mainAnswers.clear()\n",
      '',
    ],
  ],
  [
    'time: goes on while another still waits for a person',
    ['tools/approvals'],
    ['values/deadline.ts', 'if (--this.#waiting > 0) return', 'this.#waiting = 0'],
  ],
  [
    'time: what no process ran counts',
    ['steps/resumed-time'],
    [
      'steps/durable-step-engine.ts',
      'this.#idleMs = this.#clock.now() - (options.recordedUntil ?? 0)',
      'this.#idleMs = 0',
    ],
  ],
].map(([name, tests, ...changes]) => ({ name: String(name), tests, changes }))
