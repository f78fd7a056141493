// Mutations of what happens during a run in the background, and after it: tasks, background agents, stages.
// [name, test files that check the promise, [file, text in it, replacement]...]
export const promisesOfWorkBeside = [
  [
    'background: an agent is not answered from its record of past turns',
    ['tools/background-agents-resumed'],
    ['steps/fold.ts', 'const agents = recordsOfAgents(state, past)', 'const agents = recordsOfAgents(state, [])'],
  ],
  [
    'background: what an agent spent is not entered',
    ['tools/background-agents-resumed'],
    [
      'run/tasks.ts',
      '    enterAgent(run, { spent, callId: null, changedAtStart })\n',
      '    void [enterAgent, spent, changedAtStart]\n',
    ],
  ],
  [
    'background: a wait on record is not waited again for what came',
    ['tools/background-agents-resumed'],
    ['run/tasks.ts', "replayed && value.kind === 'came'", "!replayed && value.kind === 'over' && time < 0"],
  ],
  [
    'background: an agent that is answered from its record is begun again',
    ['tools/background-agents-resumed'],
    ['tool-calls/background-agents.ts', '    if (this.#agents.has(open.id)) return\n', ''],
  ],
  [
    'background: an agent begins when it is resumed, and not when it was started',
    ['tools/background-agents-resumed'],
    [
      'tool-calls/background-agents.ts',
      'startedAt: at } = this.#open',
      'startedAt } = this.#open\n    const at = Math.max(startedAt, run.spent.now)',
    ],
  ],
  [
    'background: an agent goes on with what was set since it began',
    ['tools/background-agents-resumed'],
    [
      'tool-calls/background-agents.ts',
      'const context = run.contextUnder(settings)',
      'const context = settings === null ? run.context : run.contextUnder(settings)',
    ],
  ],
  [
    'background: an agent may start as many agents as the run',
    ['tools/background-agents'],
    [
      'tool-calls/background-agents.ts',
      'mutableCopyOf(input), { agents,',
      'mutableCopyOf(input), { agents: Math.max(agents, context.settings.maxSubagents),',
    ],
  ],
  [
    'background: an agent takes all that is left for later messages',
    ['tools/background-agents'],
    ['tool-calls/child-run.ts', 'agents: Math.floor(agents / 2)', 'agents'],
  ],
  [
    'background: agents that an open one may start are free for others',
    ['tools/background-agents'],
    ['state/agent-figures.ts', '(sum, { agents }) => sum + agents, subagents)', '(sum) => sum, subagents)'],
  ],
  [
    'background: one that goes on is counted as ended',
    ['tools/background-agents'],
    ['tool-calls/background-agents.ts', 'some(({ isWorking }) => !isWorking)', 'some(({ isWorking }) => isWorking)'],
  ],
  [
    'background: agents outlive their run',
    ['tools/background-agents'],
    [
      'tool-calls/background-agents.ts',
      'Promise.all(working.map((agent) => agent.stop()))',
      'Promise.all(working.map(() => undefined))',
    ],
  ],
  [
    'background: an agent that a limit stopped has ended well, for the run after',
    ['tools/background-agents'],
    [
      'tool-calls/background-agents.ts',
      "how === 'ended' && outcome?.task.status === 'failed'",
      "how === 'stopped' && outcome?.task.status === 'failed'",
    ],
  ],
  [
    'background: an agent that was stopped has ended',
    ['tools/background-agents'],
    [
      'tool-calls/background-agents.ts',
      "outcome === undefined || outcome.task.status === 'stopped' ? 'stopped' : 'ended'",
      "outcome === undefined ? 'stopped' : 'ended'",
    ],
  ],
  [
    'background: what a stopped agent had found is lost',
    ['tools/background-agents'],
    [
      'tool-calls/background-agents.ts',
      '...(result !== undefined && { result }) } as const',
      '...(result === undefined && { result }) } as const',
    ],
  ],
  [
    'background: what an agent spent that the run does not wait for is lost',
    ['tools/background-agents'],
    ['tool-calls/background-agents.ts', 'end: outcome?.end ?? { id, spent: null }', 'end: { id, spent: null }'],
  ],
  [
    'background: what a lost agent asked is free',
    ['tools/background-agents-resumed'],
    ['tool-calls/background-agents.ts', 'spent: spent && agentFigures(spent)', 'spent: spent && null'],
  ],
  [
    'background: tasks of nested agents are not reported',
    ['live/background'],
    ['tool-calls/background-agents.ts', '(tasks.length > 0 && { tasks })', '(tasks.length < 0 && { tasks })'],
  ],
  [
    'background: what broke an agent breaks nothing',
    ['tools/background-agents-resumed'],
    ['tool-calls/background-agents.ts', '    if (this.#broken !== undefined) throw this.#broken.error\n', ''],
  ],
  [
    'background: an agent that has ended is open still',
    ['tools/background-agents'],
    ['run/tasks.ts', '.filter((open) => open.id !== id)', '.filter((open) => open.callId !== id)'],
  ],
  [
    'background: what an agent of the background spends may be what the next request of the run needs',
    ['tools/background-agents'],
    ['tool-calls/run-agent.ts', 'steps, parentReserves: () => reservesForNextRequest(run) }', 'steps }'],
  ],
  [
    'background: an agent of an agent works in the background',
    ['tools/background-agents'],
    ['tool-calls/background-agents.ts', 'identity.depth === 0 && child', 'identity.depth >= 0 && child'],
  ],
  [
    'background: what an agent says ends its own words',
    ['tools/background-agents'],
    ['run/turn-texts.ts', ".replaceAll(/<(?=\\s*\\/?\\s*agent_result)/gi, '&lt;')", ''],
  ],
  [
    'background: what an agent says is as long as it likes',
    ['tools/background-agents'],
    ['run/turn-texts.ts', '(text.length <= limit)', '(text.length >= 0)'],
  ],
  [
    'background: is waited for in the last turn',
    ['live/background'],
    [
      'run/tasks.ts',
      'run.ports.inbox.hasAny || !hasTurnLeft(run) || hasAnyEnded',
      'run.ports.inbox.hasAny || hasAnyEnded',
    ],
  ],
  [
    'background: what ended takes the last turn from the answer that is there',
    ['live/background'],
    ['run/tasks.ts', "run.identity.depth > 0 || (place === 'end' && !hasTurnLeft(run))", 'run.identity.depth > 0'],
  ],
  [
    'background: is waited for although something has ended',
    ['live/background'],
    [
      'run/tasks.ts',
      '!hasTurnLeft(run) || hasAnyEnded(run, background)) return false',
      '!hasTurnLeft(run)) return false',
    ],
    [
      'run/tasks.ts',
      'else if (inbox.hasAny || hasAnyEnded(run, background)) onArrival()',
      'else if (inbox.hasAny) onArrival()',
    ],
  ],
  [
    'background: what ends while the wait begins is missed',
    ['live/background'],
    ['run/tasks.ts', '    else if (inbox.hasAny || hasAnyEnded(run, background)) onArrival()\n', ''],
  ],
  [
    'background: a subagent receives the ends of background tasks',
    ['live/background'],
    [
      'run/tasks.ts',
      "run.identity.depth > 0 || (place === 'end' && !hasTurnLeft(run))",
      "place === 'end' && !hasTurnLeft(run)",
    ],
    [
      'run/tasks.ts',
      'return identity.depth === 0 ? context.background : null',
      'return identity.depth < 9 ? context.background : null',
    ],
  ],
  [
    'background: waiting takes the time that was used before',
    ['live/background'],
    ['run/tasks.ts', 'deadline.limitMs - deadline.usedMs', 'deadline.limitMs'],
  ],
  [
    'background: reported tasks are reported again',
    ['live/background'],
    ['run/tasks.ts', '  run.context.background?.markReported(ended.map(({ id }) => id))\n', ''],
  ],
  [
    'background: tasks that a tool reported are reported again',
    ['live/background'],
    ['tool-calls/batch.ts', '    if (tasks.length > 0) markReportedByTools(run, tasks)\n', ''],
  ],
  [
    'background: a task that ended after its agent reported its start counts as running',
    ['live/background'],
    ['run/tasks.ts', 'return notes.filter(({ id }) => !ended.has(id))', 'return notes.filter(() => ended.size >= 0)'],
  ],
  [
    'background: a new message ends what goes on beside the run',
    ['live/background'],
    [
      'run/tasks.ts',
      "signal.context['cause'] === 'interrupt') return false",
      "signal.context['cause'] === 'interrupted') return false",
    ],
  ],
  [
    'background: making the conversation shorter ends what goes on',
    ['live/background'],
    [
      'run/tasks.ts',
      "return spent.compacting === null || signal.reason === 'user_requested'",
      'return spent.compacting === null || signal.message.length >= 0',
    ],
  ],
  [
    'background: what was left by an abort is left by the end',
    ['live/background'],
    ['run/tasks.ts', "=== 'user_requested' ? 'aborted' : 'ended'", "=== 'user_requested' ? 'ended' : 'ended'"],
  ],
  [
    'background: tasks that a broken run left are not reported',
    ['tools/background-agents'],
    [
      'run/tasks.ts',
      '  await run.agents?.stopAll()\n  if (run.spent.openAgents === undefined) return\n',
      '  await run.agents?.stopAll()\n  if (run.spent.request >= 0) return\n',
    ],
  ],
  [
    'background: what had ended is lost for a later process',
    ['live/background'],
    [
      'run/tasks.ts',
      "    else if (note.type === 'ended') open.delete(note.id)\n",
      "    else if (note.type === 'ended') continue\n",
    ],
  ],
  [
    'background: what is known in this process is lost',
    ['live/background'],
    [
      'run/tasks.ts',
      'if (background === null || background.knows(id)) return []',
      'if (background === null) return []',
    ],
  ],
  [
    'background: the next run reports findings of an agent only with a port',
    ['tools/background-agents'],
    [
      'run/tasks.ts',
      'run.hasSearchedTasks ? [] : lostTasks',
      'background === null || run.hasSearchedTasks ? [] : lostTasks',
    ],
  ],
  [
    'background: agents of this run are lost',
    ['tools/background-agents-resumed'],
    ['run/tasks.ts', '  for (const { id } of spent.openAgents ?? []) open.delete(id)\n', ''],
  ],
  [
    'background: an agent that had failed has come to its answer, for the run after',
    ['tools/background-agents'],
    ['run/tasks.ts', "left.status ?? 'completed'", "'completed'"],
  ],
  [
    'stages: start after any ending',
    ['after/after-run'],
    ['after/after-run.ts', "last?.terminal.reason === 'completed'", 'last !== undefined'],
  ],
  [
    'stages: a stage that names no model asks that of the session, whatever the list says',
    ['after/after-run'],
    ['after/run-stages.ts', 'model: options.model ?? host.model', 'model: host.model'],
  ],
  [
    'stages: go on after the end of the session',
    ['after/after-run'],
    ['after/run-stages.ts', '[host.signal, options.signal].flatMap', '[options.signal].flatMap'],
  ],
  [
    'stages: go on when nobody reads what they tell',
    ['after/after-run'],
    ['after/run-stages.ts', "        abort.abort('abandoned')\n", ''],
  ],
  [
    'stages: what one cost is not in the sums of the session',
    ['after/after-run'],
    ['after/run-stages.ts', '      host.onEnded(report)\n', ''],
  ],
  [
    'stages: a question takes its turns when it has ended',
    ['after/after-run'],
    ['after/stage-run.ts', '    this.#turnsLeft -= maxTurns\n', ''],
    ['after/stage-run.ts', 'this.#turnsLeft += Math.max(0, maxTurns - turns)', 'this.#turnsLeft -= turns'],
  ],
  [
    'stages: turns that a question did not need are gone',
    ['after/after-run'],
    ['after/stage-run.ts', '      this.#turnsLeft += Math.max(0, maxTurns - turns)\n', ''],
  ],
  [
    'stages: a question without tools takes all turns',
    ['after/after-run'],
    ['after/stage-run.ts', '(needsTurns ? Infinity : 1)', '(needsTurns ? Infinity : Infinity)'],
  ],
  [
    'stages: one that has ended asks on',
    ['after/after-run'],
    ['after/stage-run.ts', "    this.#abort.abort('parent')\n", ''],
  ],
  [
    'stages: something is asked though its beginning is not on record',
    ['after/after-run'],
    [
      'after/stage-run.ts',
      "      throw new StageStop('failed', `Its start could not be recorded",
      "      void new StageStop('failed', `Its start could not be recorded",
    ],
  ],
  [
    'stages: what others only took aside is not part of the most',
    ['after/after-run'],
    ['after/stage-run.ts', '= this.#ledger.unspent()', '= this.#ledger.available()'],
  ],
  [
    'stages: the most is without dollars for a model with a price that is asked second',
    ['after/after-run'],
    [
      'after/stage-run.ts',
      "return (this.#startedPriced ??= this.#recordLimit('priced'))",
      "return (this.#startedPriced ??= this.#started ?? this.#recordLimit('priced'))",
    ],
  ],
  [
    'stages: possible spending is reported as settled',
    ['after/after-run'],
    ['after/stage-run.ts', 'costUsd: usdOf(settled.nanos - unknown.nanos)', 'costUsd: usdOf(settled.nanos)'],
  ],
  [
    'stages: one with a budget in the session asks a model without a price',
    ['after/after-run'],
    ['after/stage-run.ts', '(isPriced || mustBePriced) &&', 'isPriced &&'],
  ],
  [
    'stages: two beside each other ask the lease for what one of them needs',
    ['after/stage-lease'],
    ['after/stage-run.ts', 'shared.askedNanos += nanosOf', 'shared.askedNanos = nanosOf'],
  ],
  [
    'stages: one whose end nobody saw cost nothing',
    ['after/after-run'],
    [
      'steps/stage-record.ts',
      'if (ended === null) return { settled: most, unknown: most }',
      'if (ended === null) return { settled: zeroAmount, unknown: zeroAmount }',
    ],
  ],
  [
    'stages: one whose end nobody saw has cost its most for certain',
    ['after/after-run'],
    [
      'steps/stage-record.ts',
      'if (ended === null) return { settled: most, unknown: most }',
      'if (ended === null) return { settled: most, unknown: zeroAmount }',
    ],
  ],
  [
    'stages: what one may have spent is settled in the process after',
    ['after/after-run'],
    ['steps/stage-record.ts', 'nanos: committed - nanosOf(ended.costUsd), tokens: 0', 'nanos: 0, tokens: 0'],
  ],
  [
    'stages: two of a name after the same run are one record',
    ['after/after-run'],
    ['api/session-account.ts', 'this.#taken.has(id); count++', "this.#taken.has(id) && id === ''; count++"],
  ],
  [
    'stages: a model is asked for longer replies than it has',
    ['after/after-run'],
    ['after/stage-run.ts', 'Math.min(model.maxOutputTokens, maxReplyTokens)', 'maxReplyTokens'],
  ],
  [
    'stages: a report may have any length',
    ['after/after-run'],
    [
      'after/stage-run.ts',
      'return JSON.stringify(value).length <= maxBytes',
      'return JSON.stringify(value).length >= 0',
    ],
  ],
  [
    'stages: a stage emits what only a run may emit',
    ['after/after-run'],
    ['after/stage-run.ts', '!types.has(type) || (', '('],
  ],
  [
    'stages: a stage emits any system message',
    ['after/after-run'],
    ['after/stage-run.ts', "(type === 'system' && !subtypes.has(subtype)) || ", ''],
  ],
  [
    'hook figures: those of subagents do not count',
    ['after/hook-figures'],
    ['after/hook-figures.ts', "    if (event.type === 'agent') this.onEvent(event.event)\n", ''],
  ],
  [
    'hook figures: the next run has those of the last',
    ['after/hook-figures'],
    ['after/hook-figures.ts', '    this.#rows.clear()\n', ''],
  ],
  [
    'hook figures: the last call is the longest',
    ['after/hook-figures'],
    ['after/hook-figures.ts', 'Math.max(row.longest_ms, durationMs)', 'durationMs'],
  ],
].map(([name, tests, ...changes]) => ({ name: String(name), tests, changes }))
