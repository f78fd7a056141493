// Mutations of limits that apply without a flag: tool calls, standing budgets, and reminders of what is left.
// [name, test files that check the promise, [file, text in it, replacement]...]
export const promisesOfLimits = [
  [
    'limits: a call beyond the limit runs',
    ['limits/tool-calls'],
    ['tool-calls/batch.ts', '  if (batches.isAtLimit) return batches.skipRest(resultBeyondLimit(phase))\n', ''],
  ],
  [
    'limits: a batch takes calls beyond the limit with it',
    ['limits/tool-calls', 'limits/tool-call-limit-in-trees'],
    ['tool-calls/batch.ts', '      !this.isAtLimit && (batch.length', '      (batch.length'],
  ],
  [
    'limits: a run whose calls were refused goes on',
    ['limits/tool-calls'],
    ['tool-calls/batch.ts', 'if (refused <= 0) return undefined', 'if (refused <= 0 || refused > 0) return undefined'],
  ],
  [
    'limits: calls of agents do not count',
    ['limits/tool-calls', 'limits/tool-call-limit-in-trees'],
    [
      'run/enter-agent.ts',
      '    ...(child.toolCalls !== undefined && { toolCalls: (spent.toolCalls ?? 0) + child.toolCalls }),\n',
      '',
    ],
  ],
  [
    'limits: each agent of a message may make all calls that are left',
    ['limits/tool-calls', 'limits/tool-call-limit-in-trees'],
    ['tool-calls/child-run.ts', 'toolCalls: part(toolCalls) }', 'toolCalls: Math.max(0, toolCalls) }'],
  ],
  [
    'limits: calls of an agent in the background are left to others, too',
    ['limits/tool-call-limit-in-trees'],
    [
      'state/agent-figures.ts',
      'openAgents.reduce((sum, agent) => sum + (agent.toolCalls ?? 0), toolCalls)',
      'openAgents.reduce((sum, agent) => sum + Math.min(0, agent.toolCalls ?? 0), toolCalls)',
    ],
  ],
  [
    'limits: how many calls run is not on record',
    ['limits/tool-calls'],
    [
      'tool-calls/batch.ts',
      '  if (!isRecorded && (remainingCalls >= phase.calls.length || isPassed(run, phase, remainingCalls))) return undefined\n',
      '  if (isRecorded || remainingCalls >= phase.calls.length || isPassed(run, phase, remainingCalls)) return undefined\n',
    ],
  ],
  [
    'limits: a refusal names the limit that is set now',
    ['limits/tool-calls'],
    [
      'tool-calls/batch.ts',
      'return allowed > 0 ? takenCalls + allowed : Math.min(takenCalls, context.settings.maxToolCalls)',
      'return allowed > 0 ? takenCalls + 2 * allowed : Math.min(takenCalls, context.settings.maxToolCalls)',
    ],
  ],
  [
    'limits: the model is reminded in each turn',
    ['limits/limit-reminders', 'limits/tool-call-limit-in-trees'],
    ['loop/prepare.ts', 'before.limit === use.limit && before.percent >= percent', 'before.limit !== use.limit'],
  ],
  [
    'limits: reminders are lost with a kill',
    ['limits/limit-reminders', 'limits/tool-call-limit-in-trees'],
    ['state/state.ts', '    limitsTold: spent.limitsTold,\n', '    limitsTold: undefined,\n'],
  ],
  [
    'limits: a changed limit causes no new reminder',
    ['limits/limit-reminders'],
    ['loop/prepare.ts', 'before !== undefined && before.limit === use.limit &&', 'before !== undefined &&'],
  ],
  [
    "limits: an ending by the run's dollars names the session's",
    ['limits/standing'],
    ['run/pending-endings.ts', "context: { ...signal.context, of: 'run' }", 'context: signal.context'],
  ],
  [
    'standing budgets: nothing is taken for a request',
    ['limits/standing'],
    ['request/reserve-standing.ts', 'countsFor(model.id) === true', 'countsFor(model.id) === undefined'],
  ],
  [
    'standing budgets: a reply may be as long as if all had been given',
    ['limits/standing', 'limits/tool-call-limit-in-trees'],
    [
      'request/reserve-standing.ts',
      'if (!grant.granted || nanosOf(standing.usd) >= grant.nanos)',
      'if (!grant.granted || standing.usd > 0)',
    ],
  ],
  [
    'standing budgets: what is not needed stays taken',
    ['limits/standing', 'limits/tool-call-limit-in-trees'],
    ['request/attempt.ts', '  standing?.settle(usdOf(charge.nanos), charge.known)\n', ''],
  ],
  [
    'standing budgets: what was taken is settled twice',
    ['limits/standing-ports'],
    ['request/reserve-standing.ts', '      isOpen = false\n', ''],
  ],
  [
    'standing budgets: what a broken attempt has taken stays taken',
    ['limits/standing', 'limits/standing-ports'],
    ['request/attempt.ts', '    standing?.settle(hasBegun ? standing.usd : 0, !hasBegun)\n', ''],
  ],
  [
    'standing budgets: a replay takes from them',
    ['limits/standing-ports'],
    ['request/attempt.ts', 'granted === undefined || run.ports.isRecordOnly ||', 'granted === undefined ||'],
  ],
  [
    'standing budgets: what comes when its wait has failed stays taken',
    ['limits/standing-ports'],
    [
      'request/attempt.ts',
      '  if (standingAnswer !== undefined) ask?.leaveOnFailure(waited, standingAnswer, () => answer !== undefined)\n',
      '  if (standingAnswer instanceof Promise) standingAnswer.catch(() => undefined)\n',
    ],
  ],
  [
    'standing budgets: less than the least lets a request be made',
    ['limits/standing-ports'],
    ['request/reserve-standing.ts', 'reservedUsd >= leastUsd && reservedUsd <= usd', 'reservedUsd <= usd'],
  ],
  [
    'standing budgets: what is no answer stays taken',
    ['limits/standing-ports'],
    ['request/reserve-standing.ts', '    returnReservation(answer)\n  }\n', '  }\n'],
  ],
  [
    'standing budgets: an abort while it waits is not heard',
    ['limits/standing'],
    ['request/reserve-standing.ts', '      abort.listen(listener)\n', ''],
  ],
  [
    'standing budgets: a wait on record is enough for a resume',
    ['limits/standing-ports'],
    [
      'request/attempt.ts',
      "if (outcome !== 'aborted') return reserveStanding(attemptContext, resources, wait + 1)",
      "if (outcome !== 'aborted') return lookUpAttempt(attemptContext, resources)",
    ],
  ],
  [
    'pause: a limit that is used up is taken as an answer',
    ['limits/pause'],
    ['state/limit-request.ts', 'if (!(value > least))', 'if (!(value > 0))'],
  ],
  [
    'pause: a limit of which less is used than it allows counts as raised',
    ['limits/pause'],
    ['state/limit-request.ts', 'return to > Math.max(used, of) &&', 'return to > used &&'],
  ],
  [
    'pause: a guard allows more than its bound',
    ['limits/pause'],
    ['loop/pause-at-limit.ts', 'Math.min(byGuard[limit] ?? Infinity, limitCeilings', 'Math.min(limitCeilings'],
  ],
  [
    'pause: a model that spoke last is asked again without a word',
    ['limits/pause'],
    ['loop/pause-at-limit.ts', "run.appendUser(limitRaised, 'loop')", 'undefined'],
  ],
  [
    'pause: a limit is raised beyond what is allowed',
    ['limits/pause'],
    ['state/limit-request.ts', '  if (value > (most ?? Infinity)) throw', '  if (value > Infinity) throw'],
  ],
  [
    'pause: another limit is taken as an answer',
    ['limits/pause'],
    ['state/limit-request.ts', 'if (other !== undefined)\n', 'if (other === limit)\n'],
  ],
  [
    'pause: an agent asks about its own limit',
    ['limits/pause'],
    ['loop/pause-at-limit.ts', 'identity.depth > 0 || ', ''],
  ],
  [
    'pause: what the time limit has aborted stays aborted',
    ['limits/pause'],
    ['loop/pause-at-limit.ts', '    if (isTimeLimit) run.renewAbort()\n', ''],
  ],
  [
    'pause: a limit that is raised in a turn pays for no lap',
    ['limits/pause'],
    ['loop/pause-at-limit.ts', 'raises: (iterations.raises ?? 0) + 1', 'raises: iterations.raises ?? 0'],
  ],
  [
    'pause: an answer is waited for without end',
    ['limits/pause'],
    ['loop/pause-at-limit.ts', '{ longestMs: pauseForMs }', '{}'],
  ],
  [
    'pause: a stop does not end it',
    ['limits/pause'],
    ['loop/pause-at-limit.ts', "      if (inbox.isStopping) wake('stop')\n      else if", '      if'],
  ],
  [
    'pause: a limit that is set does not end it',
    ['limits/pause', 'live-session/limit-questions'],
    [
      'loop/pause-at-limit.ts',
      'const stops = [inbox.onArrival(checkWake), inbox.onSettings(checkWake)]',
      'const stops = [inbox.onArrival(checkWake)]',
    ],
  ],
].map(([name, tests, ...changes]) => ({ name: String(name), tests, changes }))
