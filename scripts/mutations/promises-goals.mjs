// Mutations of goals: when they are checked, what comes of it, and what is on record.
// [name, test files that check the promise, [file, text in it, replacement]...]
export const promisesOfGoals = [
  [
    'goals: what a check gives is taken for a yes',
    ['goals/goals'],
    [
      'loop/goal-round.ts',
      "    if (typeof met !== 'boolean') return",
      "    if (typeof settled.value === 'string') return { met: true }\n    if (typeof met !== 'boolean') return",
    ],
  ],
  [
    'goals: a check that is late counts',
    ['goals/goals-in-force'],
    ['loop/goal-round.ts', 'const verdict = timer.isUp ? timedOut(settled, timeoutMs) :', 'const verdict ='],
  ],
  [
    'goals: all are checked, also behind one that failed',
    ['goals/goals'],
    ['loop/goal-round.ts', 'if (!check.met) return { ...emptyRound, ...failed, checks }\n', ''],
  ],
  [
    'goals: one pass is enough',
    ['goals/goals'],
    ['loop/goal-round.ts', 'pass >= stable || !checked.check.met', 'pass >= 1 || !checked.check.met'],
  ],
  [
    'goals: what is protected and has changed is checked all the same',
    ['goals/goals'],
    ['loop/goal-round.ts', 'const checked = tampered.length > 0 ? emptyRound :', 'const checked ='],
  ],
  [
    'goals: checks share a key',
    ['goals/goals-in-force'],
    [
      'loop/goal-round.ts',
      'return run.key(`goal:${request}:${goal?.rounds ?? 0}:${index}:${pass}`)',
      'return run.key(`goal:${request}:${goal?.rounds ?? 0}`)',
    ],
  ],
  [
    'goals: what has passed is checked again',
    ['goals/goals'],
    ['loop/goals.ts', '  if (wasMet === true) return undefined\n', ''],
  ],
  [
    'goals: what was found stands, whatever has changed',
    ['goals/goals'],
    ['verification/goal-progress.ts', 'last !== null && last.changes === changeCount(spent) ?', 'last !== null ?'],
  ],
  [
    'goals: an answer without work goes back where a person is there',
    ['goals/goals'],
    ['loop/goals.ts', "context.goals.withoutWork === 'end' &&", 'spent.request < 0 &&'],
  ],
  [
    'goals: a stalled run is not reported',
    ['goals/goals'],
    ['loop/goals.ts', 'if (isStalled && goal.reminded) {', 'if (isStalled) {'],
  ],
  [
    'goals: a run that stalls goes on',
    ['goals/goals'],
    ['loop/goals.ts', 'if (isStalled && goal.reminded) {', 'if (isStalled && goal.reminded && goal.tries < 0) {'],
  ],
  [
    'goals: they are checked while agents of the run work',
    ['goals/goals-in-force'],
    [
      'loop/goals.ts',
      'return spent.openAgents !== undefined && spent.openAgents.length > 0',
      'return spent.request < 0',
    ],
  ],
  [
    'goals: nothing is checked at a limit',
    ['goals/goals'],
    [
      'loop/goals.ts',
      '  return !isAnyAgentWorking(run)\n}\n\nfunction withoutFalseSuccess',
      '  return run.spent.request < 0\n}\n\nfunction withoutFalseSuccess',
    ],
  ],
  [
    'goals: an ending that looks like success stays one',
    ['goals/goals'],
    [
      'loop/goals.ts',
      "pendingEnding.reason === 'finish_reason' ? goalUnmetEnding(run, goal, 'finish_reason') : pendingEnding",
      "run.spent.request < 0 ? goalUnmetEnding(run, goal, 'finish_reason') : pendingEnding",
    ],
  ],
  [
    'goals: an abort in a check at a limit is lost',
    ['goals/goals-in-force'],
    [
      'loop/goals.ts',
      "return record.aborted === undefined\n      ? withoutFalseSuccess(run, progress, pendingEnding)\n      : abortEnding(run, record.aborted, 'streaming')",
      'return withoutFalseSuccess(run, progress, pendingEnding)',
    ],
  ],
  [
    'goals: what the files are held against is lost with an answer for a person',
    ['goals/goals-in-force'],
    [
      'loop/goals.ts',
      '    storeMemo(run, record)\n    return record.met ? undefined :',
      '    if (record.met) storeMemo(run, record)\n    return record.met ? undefined :',
    ],
  ],
  [
    'goals: those that a person set give way to those of the options',
    ['goals/goals-in-force'],
    ['api/iterate.ts', 'specs.length > 0 && !isReplaced', 'specs.length > 0'],
  ],
  [
    'goals: a run that compacts has some',
    ['goals/goals-in-force'],
    [
      'api/iterate.ts',
      'if (!isReplacing || compacting !== null || closing !== null) return',
      'if (!isReplacing) return',
    ],
  ],
  [
    'goals: tries of other goals count',
    ['goals/goals'],
    ['run/run.ts', 'laps: triesBefore === undefined ? iterations : { ...iterations, triesBefore }', 'iterations'],
  ],
  [
    'goals: tries are without a bound',
    ['goals/goals-in-force'],
    ['goals/run-goals.ts', 'tries <= maxGoalTriesAllowed', 'tries > 0'],
  ],
  [
    'goals: tries are no turns',
    ['goals/goals'],
    [
      'limits/transition-rules.ts',
      'Math.min(triesLeft(spent, limits), limits.maxTurns - turnsBegun(spent))',
      'triesLeft(spent, limits)',
    ],
  ],
  [
    'goals: tries are no turns for a guard on steps',
    ['goals/goals-in-force'],
    [
      'run/cancellation-points.ts',
      'turnsBegun(spent.laps) +',
      'turnsBegun(spent.laps) - (spent.laps.inRun.goal_unmet ?? 0) +',
    ],
  ],
  [
    'goals: the bound of checks leaves out passes in a row',
    ['goals/goal-bounds'],
    ['api/certificate.ts', 'until.reduce((sum, { stable = 1 }) => sum + stable, 0)', 'until.length'],
  ],
  [
    'goals: the bound of checks leaves out what hooks go on with',
    ['goals/goal-bounds'],
    [
      'api/certificate.ts',
      'iterations.bounded ? iterations.value : Infinity',
      'iterations.bounded ? Math.min(iterations.value, 1) : Infinity',
    ],
  ],
].map(([name, tests, ...changes]) => ({ name: String(name), tests, changes }))
