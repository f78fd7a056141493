// Mutations that the promise tests of core must see without the exploration: of turns, signals, hooks and endings.
// [name, test files that check the promise, [file, text in it, replacement]...]
export const promisesOfTurns = [
  [
    'stops: in the order in which they were raised',
    ['order-of-evaluation'],
    ['run/tool-phase.ts', 'this.#stops.toSorted((a, b) => a.index - b.index)', 'this.#stops'],
  ],
  [
    'stops: the last one wins',
    ['order-of-evaluation'],
    [
      'loop/after-tools.ts',
      'if (stops[0] !== undefined) return hookStopEnding(stops[0])',
      'const last = stops.at(-1)\n  if (last !== undefined) return hookStopEnding(last)',
    ],
  ],
  [
    'stop hooks: the last prevention wins',
    ['order-of-evaluation'],
    ['loop/after-answer.ts', 'hookRequests.prevented ??= {', 'hookRequests.prevented = {'],
  ],
  [
    'media: what would be refused goes out',
    ['media/before-a-request'],
    ['loop/prepare.ts', '  checkMedia,\n  pruneResults', '  pruneResults'],
  ],
  [
    'media: what a person gave gives way without a word',
    ['media/before-a-request'],
    ['loop/check-media.ts', 'return descriptions.length === 0 ? null', 'return descriptions.length >= 0 ? null'],
  ],
  [
    'media: a resume takes from a request that is on record',
    ['media/before-a-request'],
    ['loop/check-media.ts', '  if (!isRecorded && isRequestRecorded(run)) return undefined\n', ''],
  ],
  [
    'media: what gave way is not read from the record',
    ['media/before-a-request'],
    [
      'loop/check-media.ts',
      'const isRecorded = run.isRecorded(name)',
      'const isRecorded = run.isRecorded(name) && false',
    ],
  ],
  [
    'media: room for one more is made on every turn',
    ['media/before-a-request'],
    ['model/media/too-much.ts', 'return Math.floor(limit / 2)', 'return limit'],
  ],
  [
    'media: the next run meets the image that was refused',
    ['media/removed'],
    ['loop/recover.ts', '  if (run.transcript.messages().some(containsMedia)) removeMedia(run, error)\n', ''],
  ],
  [
    'media: a refusal that names an image costs all of them',
    ['media/removed'],
    [
      'loop/recover.ts',
      'removeMedia(run, error, namedMedia(error.message, run.transcript.messages()))',
      'removeMedia(run, error)',
    ],
  ],
  [
    'form: a route that declines has written a message',
    ['transition/recoveries'],
    [
      'loop/recover.ts',
      "      if (!run.transcript.messages().some(containsMedia)) return 'declined'\n",
      "      if (!run.transcript.messages().some(containsMedia)) {\n        run.append({ kind: 'media_removed', id: run.entryId('media_removed'), note: '' })\n        return 'declined'\n      }\n",
    ],
  ],
  [
    'form: a route that declines has written a message, and nobody counts',
    ['transition/recoveries'],
    [
      'loop/recover.ts',
      "      if (!run.transcript.messages().some(containsMedia)) return 'declined'\n",
      "      if (!run.transcript.messages().some(containsMedia)) {\n        run.append({ kind: 'media_removed', id: run.entryId('media_removed'), note: '' })\n        return 'declined'\n      }\n",
    ],
    ['run/run.ts', 'if (this.#writes !== writes)', 'if (this.#writes < writes)'],
  ],
  [
    'form: a route that declines has written a figure',
    ['transition/turns'],
    [
      'loop/after-answer.ts',
      "if (taken >= cap) return 'declined'",
      "from.update({ stopHookActive: true })\n      if (taken >= cap) return 'declined'",
    ],
  ],
  [
    'form: the clock is moved inside calls that run together',
    ['steps/resume'],
    [
      'tool-calls/run-call.ts',
      'run.stepConcurrently<ToolResult>(name, effect, options)',
      'run.step<ToolResult>(name, effect, options)',
    ],
  ],
  [
    'form: a subagent reads the clock at its end',
    ['tools/subagents'],
    [
      'tool-calls/run-agent.ts',
      'endedAt: now + finished.terminal.durationMs,',
      'get endedAt() { return run.spent.now + finished.terminal.durationMs },',
    ],
    [
      'tool-calls/run-call.ts',
      'durationMs: agent.endedAt - beganAt,',
      'get durationMs() { return agent.endedAt - beganAt },',
    ],
  ],
  [
    'form: signals of tool hooks are not held',
    ['hooks/tool-hooks'],
    [
      'request/run-hooks.ts',
      '    if (hooks.raised.length > 0) run.setContinuation(run.continuation.withStopSignals(standing))\n',
      '',
    ],
  ],
  [
    'form: a result is entered when its neighbours have ended',
    ['steps/driver'],
    [
      'tool-calls/run-call.ts',
      '    phase.addRan({ call, result: value, at, durationMs }),\n  )\n}\n\nfunction runAgentCall',
      '    ({ call, result: value, at, durationMs }),\n  )\n}\n\nfunction runAgentCall',
    ],
    ['tool-calls/finish-call.ts', '  phase.entering = ran\n', '  phase.addRan(ran)\n  phase.entering = ran\n'],
  ],
  [
    'form: a snapshot that was handed out is written',
    ['hooks/snapshots'],
    ['run/run.ts', '    this.#isShared = true\n    this.#snapshot = {', '    this.#snapshot = {'],
  ],
  [
    'form: the record of a lap is written afterwards',
    ['hooks/snapshots'],
    [
      'run/run.ts',
      '    this.#setSpent(spent)\n    this.#isShared = true\n',
      '    this.#setSpent(spent)\n    this.#isShared = false\n',
    ],
  ],
  [
    'form: the state that a run began in is written',
    ['hooks/snapshots'],
    ['run/run.ts', '  #isShared = true\n', '  #isShared = false\n'],
  ],
  [
    'form: a lap changes the run before it is on record',
    ['steps/driver'],
    [
      'run/run.ts',
      '    const added = this.transcript.since(this.#lengthAtIteration)\n',
      '    const added = this.transcript.since(this.#lengthAtIteration)\n    this.#setSpent(spent)\n    this.#isShared = true\n    this.#lengthAtIteration = this.transcript.length\n',
    ],
  ],
  [
    'no progress: a nudge beside another signal',
    ['guards/guards'],
    [
      'run/repetition.ts',
      "  if ([...run.signals].some((signal) => signal.reason !== 'no_progress')) return noRoutes\n",
      '',
    ],
  ],
  [
    'no progress: the same is reminded of again',
    ['guards/reminders'],
    ['run/repetition.ts', 'remindedOf(spent).includes(of) :', 'false :'],
  ],
  [
    'no progress: a reminder where no turn is left',
    ['guards/reminders'],
    ['run/repetition.ts', 'isReminded(run.spent, reminder)) && isTurnLeft(run)', 'isReminded(run.spent, reminder))'],
  ],
  [
    'no progress: a reminder of an earlier version was none',
    ['guards/reminders'],
    ['run/repetition.ts', 'no_progress_nudge ?? 0) > 0 ?', 'no_progress_nudge ?? 0) > 1 ?'],
  ],
  [
    'no progress: numbers make another output',
    ['guards/masked-hash'],
    ['limits/recent-turns.ts', 'if (digits !== 0) return Math.min', 'if (digits === 1) return Math.min'],
  ],
  [
    'no progress: turns are remembered for nobody',
    ['guards/guards'],
    [
      'tool-calls/batch.ts',
      'looksAtTurns ? withNewest(recentTurns, turnHash(phase.calls, compared, phase.hasWaited)) : recentTurns',
      'withNewest(recentTurns, turnHash(phase.calls, compared, phase.hasWaited))',
    ],
  ],
  [
    'override: what is never overridden',
    ['decisions'],
    ['loop/decide.ts', 'hasFixedSignal || wasOverridden ||', 'wasOverridden ||'],
  ],
  [
    'recovery: escalation only upwards',
    ['transition/recoveries'],
    ['loop/recover.ts', "(canEscalate(run) ? 'taken' : 'declined')", "(canEscalate(run) ? 'taken' : 'taken')"],
  ],
  [
    'abort: a model that was left is still heard',
    ['tools/abort'],
    [
      'request/model-call.ts',
      'this.#partial.isClosed ? undefined : this.#blocks.checkUpdate(received)',
      'this.#blocks.checkUpdate(received)',
    ],
  ],
  [
    'abort: hooks are called after it',
    ['hooks/lifecycle'],
    [
      'request/run-hooks.ts',
      'if (cause !== undefined && !this.#isOfTheEnd) return',
      "if (cause !== undefined && trigger === 'beforeExecution') return",
    ],
  ],
  [
    'end: hooks of a run that broke',
    ['callbacks'],
    [
      'loop/finish.ts',
      "if (how === 'with_hooks') {\n    await runLastHooks",
      'if (run !== undefined) {\n    await runLastHooks',
    ],
  ],
  [
    'end: tasks after any run',
    ['callbacks'],
    ['loop/finish.ts', "if (pendingEnding.reason === 'completed') startPostRun(run)", 'startPostRun(run)'],
  ],
  [
    'hooks: what onError says about a hook that failed is lost',
    ['hooks/lifecycle'],
    ['request/run-hooks.ts', '      this.messages.push(...errorHooks.messages)\n', ''],
  ],
  [
    'hooks: what onError raises about a hook that failed is lost',
    ['hooks/lifecycle'],
    ['request/run-hooks.ts', '      this.raised.push(...errorHooks.raised)\n', ''],
  ],
  [
    'allowance: one more stop_hook_blocking',
    ['transition/retry-limits'],
    [
      'limits/transition-rules.ts',
      "stop_hook_blocking: { chargedTo: 'own', iterations: 8",
      "stop_hook_blocking: { chargedTo: 'own', iterations: 9",
    ],
  ],
  [
    'result: stopped after the reply',
    ['order-of-evaluation'],
    ['loop/after-reply.ts', /    closeNotRun\(run, calls, runStoppedBy[^\n]*\n/, ''],
  ],
  [
    'order: guards before the inbox',
    ['order-of-evaluation'],
    ['loop/prepare.ts', '  guardsAndHooks,\n  steering,\n', '  steering,\n  guardsAndHooks,\n'],
  ],
  [
    'signals: a turn begins with those of the last',
    ['decisions'],
    ['run/run.ts', '    this.#continuation = ExecutionContinuation.fresh()\n', ''],
  ],
  [
    'signals: at equal numbers a limit outranks a person',
    ['endings/signals'],
    ['endings/signals.ts', "order === 0 && a.reason === 'user_requested' &&", 'order === 0 && order > 0 &&'],
  ],
  [
    'override: a guard that was overridden is so for ever',
    ['decisions'],
    [
      'run/cancellation-points.ts',
      '      if (wasOverridden) run.update({ overridden: overridden.filter((other) => other !== id) })\n',
      '',
    ],
  ],
  [
    'override: a guard that was overridden is silent after the tools too',
    ['decisions'],
    ['run/cancellation-points.ts', "(wasOverridden && cancellationPoint === 'before_turn')", 'wasOverridden'],
  ],
  [
    "override: a request that ends with the model's own words",
    ['decisions'],
    ['loop/decide.ts', 'wasOverridden || lacksNewMessage || isUsedUp', 'wasOverridden || isUsedUp'],
  ],
  [
    'override: a request to go on that was not granted stands',
    ['decisions'],
    ['loop/finish.ts', '  run.setContinuation(run.continuation.withContinuationRequested(false))\n', ''],
  ],
  [
    'no progress: a message from outside does not count as progress',
    ['guards/guards'],
    [
      'run/cancellation-points.ts',
      "  if (messages.length > 0 || place === 'end') run.update({ recentTurns: [], repetition: undefined })\n",
      '',
    ],
  ],
  [
    'no progress: the count goes on after a reminder in place of an ending',
    ['guards/reminders'],
    ['run/repetition.ts', '  run.update({ recentTurns: [] })\n', ''],
  ],
  [
    'no progress: what a tool means is answered with a nudge',
    ['guards/guards'],
    [
      'run/repetition.ts',
      "pendingEnding.reason !== 'no_progress' || pendingEnding.raisedBy.length === 0",
      "pendingEnding.reason !== 'no_progress'",
    ],
  ],
  [
    'wrap up: an abort by the budget asks for a last answer',
    ['decisions'],
    ['run/pending-endings.ts', 'budgetSignal(run, source), { wrapsUp: false })', 'budgetSignal(run, source))'],
  ],
  [
    'wrap up: the last answer may be overridden',
    ['decisions'],
    ['loop/finish-wrap-up.ts', 'signal, { overridable: false }))', 'signal))'],
  ],
  [
    'abort: the last cause counts',
    ['tools/abort'],
    ['values/abort.ts', '      return\n    }\n    this.#cause = cause', '    }\n    this.#cause = cause'],
  ],
  [
    'abort: the grace time is twice as long',
    ['tools/abort'],
    ['values/settle.ts', 'timers.after(graceMs, leave)', 'timers.after(2 * graceMs, leave)'],
  ],
  [
    'hooks: in the order in which they were registered',
    ['hooks/lifecycle'],
    [
      'hooks/hook.ts',
      '(b.hook.priority ?? 0) - (a.hook.priority ?? 0)',
      '(b.hook.priority ?? 0) * 0 - (a.hook.priority ?? 0) * 0',
    ],
  ],
  [
    'hooks: others are asked about a call that one denied',
    ['hooks/tool-hooks'],
    [
      'request/run-hooks.ts',
      'outcome.blocked !== undefined || outcome.aborted !== undefined ? true',
      'outcome.aborted !== undefined ? true',
    ],
  ],
  [
    'hooks: a transcript is replaced while calls have no result',
    ['hooks/replaced-transcript'],
    ['conversation/replaced-messages.ts', 'if (openCallsOf(before).length > 0)', 'if (openCallsOf(before).length < 0)'],
  ],
  [
    "hooks: a replaced transcript may end with the model's words",
    ['hooks/replaced-transcript'],
    [
      'conversation/replaced-messages.ts',
      'if (endsWithUser(before.messages()) && !endsWithUser(messages))',
      'if (endsWithUser([]) && !endsWithUser(messages))',
    ],
  ],
  [
    'stop hooks: an empty reason blocks',
    ['transition/turns'],
    ['loop/after-answer.ts', " && outcome.block.trim() !== '')", ')'],
  ],
  [
    'stop hooks: never learn that they sent the model back',
    ['transition/turns'],
    [
      'loop/after-answer.ts',
      'from.update({ stopHookActive: true, stopHookBlocks: repeats })',
      'from.update({ stopHookActive: false, stopHookBlocks: repeats })',
    ],
  ],
  [
    'stop hooks: nobody counts what one says again',
    ['transition/stop-hook-repeats'],
    [
      'loop/after-answer.ts',
      'from.update({ stopHookActive: true, stopHookBlocks: repeats })',
      'from.update({ stopHookActive: true })',
    ],
  ],
  [
    'stop hooks: what changed in between does not count',
    ['transition/stop-hook-repeats'],
    [
      'loop/after-answer.ts',
      'const isRepeat = last?.reason === current.reason && last.changes === current.changes',
      'const isRepeat = last?.reason === current.reason',
    ],
  ],
  [
    'stop hooks: any reason is the same',
    ['transition/stop-hook-repeats'],
    [
      'loop/after-answer.ts',
      'const isRepeat = last?.reason === current.reason && last.changes',
      'const isRepeat = last?.changes',
    ],
  ],
  [
    'endings: a run without a word is completed',
    ['terminal/no-answer'],
    ['loop/after-answer.ts', "if (isDone || lastAnswer(run) !== '') {", 'if (isDone || lastAnswer(run).length >= 0) {'],
  ],
  [
    'endings: what was said for another prompt is the answer',
    ['terminal/no-answer'],
    [
      'conversation/transcript.ts',
      'entries.slice(0, start).findLastIndex(isPrompt)\n    return before === -1 ? start : before',
      'entries.slice(0, start).findIndex(isPrompt)\n    return before === -1 ? start : before',
    ],
  ],
  [
    'endings: the prompt of a run that continues another is not known',
    ['terminal/no-answer'],
    ['conversation/transcript.ts', 'return before === -1 ? start : before', 'return start'],
  ],
  [
    'endings: no hook may continue a run without an answer',
    ['terminal/no-answer'],
    ['loop/decide.ts', ' && JSON.stringify(signal) !== ownSignal,\n  )', ')'],
  ],
  [
    'certificate: a hook overrides no guard',
    ['certificate'],
    [
      'api/certificate.ts',
      'const granted = (options.hooks?.length ?? 0) > 0 ? 1 : 0',
      'const granted = (options.hooks?.length ?? 0) > 0 ? 0 : 0',
    ],
  ],
  [
    'certificate: dollars buy tokens at the price of the dearest model',
    ['budget/token-bounds-of-dollars'],
    ['api/certificate.ts', 'answer.usd < cheapest.usd', 'answer.usd > cheapest.usd'],
  ],
  [
    'certificate: models that may be chosen charge nothing',
    ['budget/token-bounds-of-dollars'],
    ['api/certificate.ts', '[model, ...ofFallback, ...models, ', '[model, ...ofFallback, '],
  ],
  [
    'certificate: what hooks and tools ask is not in a bound that windows give',
    ['budget/token-bounds-of-dollars'],
    ['api/certificate.ts', 'limited.push(...tokensOfMoney(options, settings))', ''],
  ],
  [
    'certificate: the least price of a token is rounded up',
    ['budget/token-bounds-of-dollars'],
    ['model/prices.ts', 'nearest : Math.floor(exact)', 'nearest : Math.ceil(exact)'],
  ],
  ['forecast: a summary is not paid for', ['forecast'], ['api/forecast.ts', 'this.#ask(summaryTokens)', '']],
  [
    'forecast: the turn that a limit does not leave room for is counted',
    ['forecast'],
    ['api/forecast.ts', 'endsBy = limitBelow(after)', 'endsBy = limitBelow(spent)'],
  ],
  [
    'iteration: emitted without its overridden signals on record',
    ['decisions'],
    [
      'run/run.ts',
      'this.ports.steps.lap(overridden === undefined ? iteration : { ...iteration, overridden })',
      'this.ports.steps.lap(overridden === undefined ? iteration : { ...iteration })',
    ],
  ],
].map(([name, tests, ...changes]) => ({ name: String(name), tests, changes }))
