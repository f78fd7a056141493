// Mutations of the calls of tools, and of subagents.
// [name, test files that check the promise, [file, text in it, replacement]...]
export const promisesOfCalls = [
  [
    "figures: a subagent's unknown cost",
    ['tools/subagents'],
    ['run/enter-agent.ts', 'unknownNanos: spent.unknownNanos + child.unknownNanos', 'unknownNanos: spent.unknownNanos'],
  ],
  [
    'break: "not run" for a call that had begun',
    ['steps/driver'],
    ['tool-calls/close-calls.ts', 'phase.hasBegun(index) ? unknownOutcome', 'phase.hasBegun(-9) ? unknownOutcome'],
  ],
  [
    'break: "unknown" for a call that had ended',
    ['steps/driver'],
    ['tool-calls/close-calls.ts', '    enterEnded(run, phase)\n', ''],
  ],
  ['break: emitted events are emitted again', ['callbacks'], ['tool-calls/batch.ts', '  phase.isEntered = true\n', '']],
  [
    'break: results that hooks have not seen are emitted',
    ['tools/broken-runs'],
    [
      'tool-calls/finish-call.ts',
      "hasHooksAfter(run, call.name, ran.result) ? withheld(ran.result, 'failed') : ran.result",
      'ran.result',
    ],
  ],
  [
    'break: what a call that had ended took and spent is lost',
    ['tools/broken-runs'],
    ['tool-calls/finish-call.ts', '    if (phase.entering !== ran) enterRan(run, phase, ran)\n', ''],
  ],
  [
    'ids: a call keeps an id that came before',
    ['tools/call-ids'],
    [
      'conversation/transcript.ts',
      'if (!this.#numbers.has(id) && also?.has(id) !== true) return id',
      'if (id.length > 0) return id',
    ],
  ],
  [
    'ids: an early start is taken by its place alone',
    ['tools/call-ids'],
    [
      'run/tool-phase.ts',
      'known !== undefined && isSame(known.original, call) ? known.inspected : undefined',
      'known?.inspected',
    ],
  ],
  [
    'values: a tool is called with the input of the transcript',
    ['tools/shared-values'],
    ['tool-calls/inspect-call.ts', 'const input = mutableCopyOf(canonical)', 'const input = canonical'],
  ],
  [
    'once: rules are asked again for a call that started early',
    ['tools/single-input-check'],
    ['tool-calls/ask-permission.ts', 'earlyDecision ?? askRules(run, request)', 'askRules(run, request)'],
  ],
  [
    'once: an early look is not kept',
    ['tools/single-input-check'],
    ['tool-calls/batch.ts', 'early.find(call, index) ?? inspectCall', 'inspectCall'],
  ],
  [
    'garbage: what is no decision allows',
    ['garbage'],
    [
      'permissions/permission-decision.ts',
      'plainTextOf(message) }\n      : undecided',
      "plainTextOf(message) }\n      : { behavior: 'allow' }",
    ],
  ],
  [
    'precheck: a person is asked about what cannot succeed',
    ['tools/precheck'],
    ['tool-calls/ask-permission.ts', "{ behavior: 'fail', message }", 'decision'],
  ],
  [
    'precheck: the record has what hooks were to redact',
    ['tools/precheck'],
    ['tool-calls/run-call.ts', ' || withholdsResults(run, call.call.name)', ''],
  ],
  [
    'garbage: a denial without a reason does not deny',
    ['garbage'],
    ['hooks/hook-context.ts', 'plainTextOf(reason) || denied', 'reason'],
  ],
  [
    'break: what hooks said is lost',
    ['steps/driver'],
    ['tool-calls/batch.ts', '  addHookMessages(run, phase.messages)\n', ''],
  ],
  [
    "subagent: always aborted with the cause 'parent'",
    ['tools/subagents'],
    [
      'tool-calls/run-agent.ts',
      "abort.abort(cause === 'time' || cause === 'budget' ? cause : 'parent')",
      "abort.abort('parent')",
    ],
  ],
  [
    "subagent: aborted with its parent's own cause",
    ['tools/subagents'],
    [
      'tool-calls/run-agent.ts',
      "abort.abort(cause === 'time' || cause === 'budget' ? cause : 'parent')",
      'abort.abort(cause)',
    ],
  ],
  [
    'tool hooks: the last prevention wins',
    ['order-of-evaluation'],
    [
      'tool-calls/finish-call.ts',
      'for (const { hook, outcome } of hooks.outcomes) {',
      'for (const { hook, outcome } of hooks.outcomes.toReversed()) {',
    ],
  ],
  [
    "figures: a subagent's deaf tools",
    ['tools/subagents'],
    ['run/enter-agent.ts', '    stillRunning: [...spent.stillRunning, ...child.stillRunning],\n', ''],
  ],
  [
    'figures: results for calls that waited',
    ['tools/approvals'],
    ['api/start.ts', 'toolResults: closed.spent.toolResults + calls.length', 'toolResults: closed.spent.toolResults'],
  ],
  [
    'abort: calls are looked at after one that it cut',
    ['tools/abort'],
    ['tool-calls/finish-call.ts', '  phase.noteAbort(result.abort)\n', ''],
  ],
  [
    'abort: calls are looked at after a hook that it cut',
    ['tools/abort'],
    ['tool-calls/finish-call.ts', '  phase.noteAbort(hooks.aborted)\n', ''],
  ],
  [
    'tool hooks: receive the input as the model gave it',
    ['hooks/tool-hooks'],
    [
      'tool-calls/finish-call.ts',
      'prepared.inspected.validatedInput !== call.input',
      'prepared.inspected.validatedInput === null',
    ],
  ],
  [
    'tool hooks: results that an abort withheld from them are emitted',
    ['tools/redacted-results'],
    ['tool-calls/finish-call.ts', "  if (aborted !== undefined) return withheld(result, 'aborted')\n", ''],
  ],
  [
    'tool hooks: the details of a replaced result are emitted',
    ['tools/redacted-results'],
    [
      'tools/tool-result.ts',
      'details: _details, error: _error, spooled: _spooled, ...result',
      'spooled: _spooled, ...result',
    ],
  ],
  [
    'tool hooks: the first replaced output is emitted',
    ['hooks/tool-hooks'],
    ['tool-calls/finish-call.ts', '= outcomes.findLast(', '= outcomes.find('],
  ],
  [
    'tool hooks: the first changed input counts',
    ['hooks/tool-hooks'],
    [
      'tool-calls/prepare-call.ts',
      'outcomes.findLast((outcome) => outcome.input !== undefined)',
      'outcomes.find((outcome) => outcome.input !== undefined)',
    ],
  ],
  [
    'tool hooks: one that vouches outdoes one that asks',
    ['hooks/tool-hooks'],
    ['tool-calls/prepare-call.ts', "['defer', 'ask', 'allow'] as const", "['defer', 'allow', 'ask'] as const"],
  ],
  ['subagent: asked for a last answer', ['tools/subagents'], ['tool-calls/child-run.ts', '    wrapUp: false,\n', '']],
  [
    'subagent: handed what is for the main loop',
    ['tools/subagents'],
    ['tool-calls/run-agent.ts', '    inbox: inboxOfAgent(inbox),\n', ''],
  ],
  ['subagent: tasks after it', ['tools/subagents'], ['tool-calls/child-run.ts', '    postRun: [],\n', '']],
  [
    'result: calls after a stop',
    ['terminal/natural'],
    ['tool-calls/batch.ts', '  phase.setResult(index, result)\n', ''],
  ],
  [
    'values: a message that is handed in stays whose it was',
    ['tools/shared-values'],
    ['steps/inbox.ts', 'content: messageContentOf(content)', 'content'],
  ],
  [
    'values: a prompt stays whose it was',
    ['tools/shared-values'],
    ['api/start.ts', 'content: messageContentOf(options.prompt)', 'content: options.prompt'],
  ],
  [
    "values: details stay the tool's",
    ['tools/shared-values'],
    ['tools/tool-result.ts', 'details: jsonOf(details)', 'details: details as ReturnType<typeof jsonOf>'],
  ],
  [
    "values: blocks of a result stay the tool's",
    ['tools/shared-values'],
    [
      'tools/tool-result.ts',
      'const modelContent = resultContentOf(value)',
      'const modelContent = value as ReturnType<typeof resultContentOf>',
    ],
  ],
  [
    "values: an input that a hook gives stays the hook's",
    ['tools/shared-values'],
    [
      'hooks/hook-context.ts',
      'input: { value: jsonOf(value) }',
      'input: { value: value as ReturnType<typeof jsonOf> }',
    ],
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
      'request/model-call.ts',
      'if (reply !== undefined) return answeredAttempt(run, plan, grant, reply)',
      "if (reply !== undefined && settled.kind === 'value')\n      return answeredAttempt(run, plan, grant, { ...reply, message: settled.value.message })",
    ],
  ],
  [
    "values: blocks emitted during streaming stay the model's",
    ['tools/shared-values'],
    [
      'request/model-call.ts',
      'this.#partial.isClosed ? undefined : this.#blocks.checkUpdate(received)',
      'this.#partial.isClosed ? undefined : received',
    ],
  ],
  [
    'ids: a streaming call is emitted with the id of the service',
    ['tools/call-ids'],
    [
      'request/model-call.ts',
      'this.#partial.isClosed ? undefined : this.#blocks.checkUpdate(received)',
      'this.#partial.isClosed ? undefined : received',
    ],
  ],
  [
    'subagent: hooks of the run',
    ['tools/subagents'],
    [
      'tool-calls/child-run.ts',
      '(runLevelTriggers.has(trigger) ? [] : hooks.for',
      "(runLevelTriggers.has(trigger) && toolName === '' ? [] : hooks.for",
    ],
  ],
  [
    'tools: a reading call that a hook made a writing one runs beside others',
    ['tools/executor'],
    [
      'tool-calls/batch.ts',
      "call.kind !== 'run' || call.inspected.parallelSafe)",
      "call.kind !== 'run' || call.inspected.index >= 0)",
    ],
  ],
  [
    'tools: a predicate that throws says that a call reads',
    ['tools/executor'],
    [
      'tool-calls/inspect-call.ts',
      '    return isReading === true\n  } catch {\n    return false',
      '    return isReading === true\n  } catch {\n    return true',
    ],
  ],
  [
    'tools: a call starts early though a hook wants to see it',
    ['tools/executor'],
    [
      'tool-calls/early-starts.ts',
      " || hooks.for('beforeToolUse', tool.name).length > 0)",
      ' || hooks.all.length < 0)',
    ],
  ],
  [
    'tools: a call starts early though rules give it another input',
    ['tools/executor'],
    ['tool-calls/early-starts.ts', ' && decision.updatedInput === undefined', ''],
  ],
  [
    'tools: a further batch starts beside a call that waits',
    ['tools/approvals'],
    ['tool-calls/batch.ts', '  if (phase.pending.length > 0) return false\n', ''],
  ],
  [
    'permissions: rules that throw deny nothing',
    ['hooks/tool-hooks'],
    [
      'tool-calls/ask-permission.ts',
      '    return failedRules(error).message\n',
      '    return failedRules(error).message.slice(0, 0) || undefined\n',
    ],
  ],
  [
    "permissions: a hook's ask lets an allowed call run",
    ['hooks/tool-hooks'],
    [
      'tool-calls/ask-permission.ts',
      "hookDecision === 'ask' && decision.behavior === 'allow'",
      "hookDecision === 'ask' && decision.behavior === 'ask'",
    ],
  ],
  [
    'permissions: an input that a person changed is not checked',
    ['tools/approvals'],
    [
      'tool-calls/prepare-call.ts',
      "      if (changed.kind === 'invalid') return invalidCall(phase, changed, changed.message)\n",
      "      if (changed.kind === 'invalid') return readyCall(run, phase, { ...inspected, input: decision.updatedInput })\n",
    ],
  ],
  [
    'permissions: deny rules are not asked about an input that a person or a rule gave',
    ['hooks/tool-hooks', 'tools/approvals'],
    [
      'tool-calls/prepare-call.ts',
      'andThen(denyUpdated(run, changed, phase.callStart(inspected.index)), (message) =>',
      'andThen(changed.index < 0 ? denyUpdated(run, changed, phase.callStart(inspected.index)) : undefined, (message) =>',
    ],
  ],
  [
    'subagent: a part that is rounded up',
    ['tools/agents-of-agents'],
    [
      'tool-calls/child-run.ts',
      'Math.floor(left / Math.max(1, agentCallCount))',
      'Math.ceil(left / Math.max(1, agentCallCount))',
    ],
  ],
  [
    'subagent: as many of its own as its parent',
    ['tools/agents-of-agents'],
    ['tool-calls/child-run.ts', '    maxSubagents: share.agents,\n', ''],
  ],
  [
    'subagent: deeper than the last level',
    ['tools/agents-of-agents'],
    ['tool-calls/child-run.ts', 'Math.max(0, settings.maxSubagentDepth - 1)', 'settings.maxSubagentDepth'],
  ],
  [
    'subagent: a refusal that is not on record',
    ['tools/agents-of-agents'],
    ['tool-calls/child-run.ts', '  if (depth === 0) return refusal(run)\n', '  if (depth >= 0) return refusal(run)\n'],
  ],
  [
    'subagent: what a lost one asked is not paid',
    ['steps/recorded-calls'],
    [
      'tool-calls/run-agent.ts',
      'const charges = steps.flatMap(chargeOfStep)',
      'const charges = steps.slice(0, 0).flatMap(chargeOfStep)',
    ],
  ],
  [
    'subagent: more turns than its parent',
    ['tools/subagents'],
    [
      'tool-calls/child-run.ts',
      'maxTurns: withinLimit(child.maxTurns, settings.maxTurns)',
      'maxTurns: child.maxTurns ?? settings.maxTurns',
    ],
  ],
  [
    'subagent: its own limits forget over a kill what it spent',
    ['tools/agent-limits'],
    [
      'request/attempt.ts',
      "if (isOfAgent && result.replayed && 'charge' in result.value) restoreForAgent(run, [result.value.charge])",
      '',
    ],
  ],
  [
    "subagent: the guard on its parent's turns counts its own",
    ['tools/subagents'],
    [
      'tool-calls/child-run.ts',
      'context.guards.filter(({ guard }) => appliesToAgents(guard))',
      'context.guards.filter(({ guard }) => appliesToAgents(guard) || guard.name.length > 0)',
    ],
  ],
  [
    'waits: a resume waits anew',
    ['tools/waits'],
    [
      'tool-calls/run-call.ts',
      "typeof since === 'number' ? since : wallTimeOf",
      "typeof since === 'string' ? Number(since) : wallTimeOf",
    ],
  ],
  [
    'waits: a message that comes ends none',
    ['tools/waits'],
    ['tool-calls/run-call.ts', "inbox.onArrival(() => end('arrived'))", 'inbox.onArrival(() => {})'],
  ],
  [
    'waits: a message that is there ends none',
    ['tools/waits'],
    ['tool-calls/run-call.ts', 'if (inbox.hasAny) {', 'if (inbox.hasAny && longestMs < 0) {'],
  ],
  [
    'waits: nothing is left of the time for an answer',
    ['tools/waits'],
    [
      'tool-calls/run-call.ts',
      'timeLeft(rootDeadline)) * shareForWaiting',
      'timeLeft(rootDeadline)) / (shareForWaiting * shareForWaiting)',
    ],
  ],
  [
    'waits: an agent knows nothing of the time of the run',
    ['tools/waits'],
    ['tool-calls/run-call.ts', 'Math.min(timeLeft(deadline), timeLeft(rootDeadline))', 'timeLeft(deadline)'],
  ],
  [
    'waits: one begins while its message still streams',
    ['tools/waits'],
    ['tool-calls/early-starts.ts', ' || tool.waits === true', ''],
  ],
  [
    'waits: the reminder names no tool',
    ['tools/waits'],
    ['run/repetition.ts', 'noProgressReminder(waitToolOf(run))', 'noProgressReminder(waitToolOf(run)?.slice(99))'],
  ],
].map(([name, tests, ...changes]) => ({ name: String(name), tests, changes }))
