// Mutations of reports on turns and finished runs: cycles, the account of a record, and what-if with other limits.
// [name, test files that check the promise, [file, text in it, replacement]...]
export const promisesOfLooking = [
  [
    'cycles: a tool that works for five seconds does not wait',
    ['guards/guards'],
    ['run/tool-phase.ts', 'durationMs >= waitThresholdMs)', 'durationMs > waitThresholdMs)'],
  ],
  [
    'cycles: an agent that takes long waits',
    ['guards/guards'],
    ['run/tool-phase.ts', 'agent === undefined && durationMs', 'durationMs'],
  ],
  [
    'cycles: a turn waits only where all its tools do',
    ['guards/guards'],
    ['run/tool-phase.ts', 'return this.ran.some(', 'return this.ran.every('],
  ],
  [
    'cycles: a wait before the newest round counts',
    ['guards/guards'],
    ['limits/recent-turns.ts', 'let index = turns.length - length; index < turns', 'let index = 0; index < turns'],
  ],
  [
    'cycles: a round waits only where its newest turn does',
    ['guards/guards'],
    [
      'limits/recent-turns.ts',
      'let index = turns.length - length; index < turns',
      'let index = turns.length - 1; index < turns',
    ],
  ],
  [
    'cycles: whether a turn waited makes it another one',
    ['guards/guards'],
    ['limits/recent-turns.ts', 'return hashWithoutWait(turn) === hashWithoutWait(other)', 'return turn === other'],
  ],
  [
    'cycles: a turn that waited is remembered as another one',
    ['guards/guards'],
    ['limits/recent-turns.ts', 'return hasWaited ? -1 - hash : hash', 'return hasWaited ? -hash : hash'],
  ],
  [
    'cycles: one turn fewer is remembered',
    ['guards/guards'],
    [
      'limits/recent-turns.ts',
      'length + consecutiveMatches(all, length)',
      'length + consecutiveMatches(all, length) - 1',
    ],
  ],
  [
    'cycles: one that waits may come more often than is remembered',
    ['guards/guards'],
    ['limits/recent-turns.ts', 'Math.floor(turnsWithWaits / length)', 'Math.ceil(turnsWithWaits / length)'],
  ],
  [
    'cycles: the one farthest from its limit is reported',
    ['guards/guards'],
    ['limits/recent-turns.ts', 'cycle.repeats / limit > nearest', 'cycle.repeats / limit < nearest'],
  ],
  [
    'cycles: the most frequent one is reported, whatever its limit',
    ['guards/guards'],
    [
      'limits/recent-turns.ts',
      'cycle.repeats / limit > nearest.repeats / nearest.limit',
      'cycle.repeats > nearest.repeats',
    ],
  ],
  [
    'cycles: two rounds are one of twice the length',
    ['guards/guards'],
    ['limits/recent-turns.ts', 'length <= round / 2', 'length < round / 2'],
  ],
  [
    'cycles: half a round more counts as one',
    ['guards/guards'],
    ['limits/recent-turns.ts', '1 + Math.floor(consecutiveMatches', '1 + Math.ceil(consecutiveMatches'],
  ],
  [
    'cycles: other input to the same tool is no other turn',
    ['guards/guards'],
    ['limits/recent-turns.ts', "    hash = exactHash(JSON.stringify(call.input) ?? '', hash)\n", ''],
  ],
  [
    'cycles: the name of a large result makes it another one',
    ['tools/large-results'],
    ['tool-calls/batch.ts', 'turnHash(phase.calls, compared, ', 'turnHash(phase.calls, blocks, '],
  ],
  [
    'cycles: what ends beside a turn is progress',
    ['live/background'],
    ['run/cancellation-points.ts', "  if (messages.length > 0 || place === 'end') run", '  run'],
  ],
  [
    'past goals: a round of checks may be of any type',
    ['steps/stored-record'],
    ['steps/stored-record.ts', "outcome['asks'] !== true) isGoalRound", "outcome['asks'] === true) isGoalRound"],
  ],
  [
    'past goals: a round that an abort cut counts',
    ['@analysis/goals/goals'],
    [
      '@analysis/account/goal.ts',
      ").filter(({ scope, isCut }) => scope === '' && !isCut)",
      ").filter(({ scope }) => scope === '')",
    ],
  ],
  [
    'past goals: a run that did not end has met its goal',
    ['@analysis/goals/goals'],
    ['@analysis/account/goal.ts', "    met: 'unknown',\n", '    met: last?.met ?? false,\n'],
  ],
  [
    'past goals: a round stands behind what the loop says of it',
    ['@analysis/goals/goals'],
    ['@analysis/view/session-transcript.ts', 'reported < 0 ? unreported : reported', 'unreported'],
  ],
  [
    'past goals: tries are no part of what is left',
    ['@analysis/goals/goals'],
    ['@analysis/account/iterations.ts', 'goal === undefined ? 0 : maxGoalTries', '0'],
  ],
  [
    'past goals: one try fewer ends no run',
    ['@analysis/goals/what-if'],
    ['@analysis/what-if/stops.ts', '({ tries = 0 }) => tries > max', '({ tries = 0 }) => tries > max + 1'],
  ],
  [
    'past goals: a subagent may try as often as it likes',
    ['@analysis/goals/what-if'],
    ['@analysis/what-if/stops.ts', ' || agentTries > maxTries', ''],
  ],
  [
    'past goals: a goal is not checked at another limit',
    ['@analysis/goals/what-if'],
    ['@analysis/what-if/what-if.ts', '...(isCheckedAt(trajectory, stop, options) && { isCompletedIfMet: true }),', ''],
  ],
  [
    'past goals: more tries help a run in which nothing changed',
    ['@analysis/goals/what-if'],
    ['@analysis/what-if/what-if.ts', ' || ending.isShortOfLimit === true', ''],
  ],
  [
    'account: a result is of any call with its id, also of another agent',
    ['@analysis/account/account'],
    [
      '@analysis/account/recorded-steps.ts',
      '#open.get(`${scope}|${callIdOf(name)}`)',
      '#open.get(`|${callIdOf(name)}`)',
    ],
  ],
  [
    'account: the outcome of a call is derived from the text of its result',
    ['@analysis/account/recorded-work'],
    ['@analysis/account/recorded-steps.ts', "    if (call.status !== 'open') return\n", ''],
  ],
  [
    'account: a denial by the mode or a person has failed',
    ['@analysis/account/recorded-work'],
    ['@analysis/account/recorded-steps.ts', "decision['behavior'] === 'deny'", "decision['behavior'] === 'denied'"],
  ],
  [
    'account: a denial by rules has failed',
    ['@analysis/account/recorded-work'],
    [
      '@analysis/account/recorded-steps.ts',
      "typeof decision['message'] === 'string'",
      "decision['behavior'] === 'deny'",
    ],
  ],
  [
    'account: a denial for which a model was asked has failed',
    ['@analysis/account/recorded-work'],
    ['@analysis/account/recorded-steps.ts', "isJsonObject(value['value']) ? value['value'] : value", 'value'],
  ],
  [
    'account: a denial of what a person or a rule changed has failed',
    ['@analysis/account/recorded-work'],
    [
      '@analysis/account/recorded-steps.ts',
      'if (isDenied && call',
      "if (isDenied && !name.endsWith(':updated') && call",
    ],
  ],
  [
    'account: a call that asks a model took no time before its last step',
    ['@analysis/account/account'],
    [
      '@analysis/account/recorded-steps.ts',
      'durationMs: Math.max(0, step.at + step.durationMs - began) }',
      'durationMs: step.durationMs }',
    ],
  ],
  [
    'account: a request that was refused is open',
    ['@analysis/account/recorded-work'],
    [
      '@analysis/account/recorded-steps.ts',
      "if (!isJsonObject(intent) || intent['granted'] !== true) continue",
      'if (!isJsonObject(intent)) continue',
    ],
  ],
  [
    'account: a step that has ended is open',
    ['@analysis/account/account'],
    ['@analysis/account/recorded-steps.ts', '        this.#intents.delete(record.key)\n', ''],
  ],
  [
    'account: results of subagents are of the main loop',
    ['@analysis/account/recorded-work'],
    ['@analysis/account/recorded-steps.ts', 'this.#enterResults(record.lap.scope, ', "this.#enterResults('', "],
  ],
  [
    'account: the last answer at a limit is no request of a model',
    ['@analysis/account/account'],
    ['@analysis/account/recorded-steps.ts', "  ['wrap_up:', 'model'],\n", ''],
  ],
  [
    'account: what an attempt waits for is the loop itself',
    ['@analysis/account/account'],
    ['@analysis/account/recorded-steps.ts', "'approval', 'retry', 'admit'", "'approval', 'admit'"],
  ],
  [
    'account: an open request costs nothing',
    ['@analysis/account/account'],
    [
      '@analysis/account/recorded-progress.ts',
      'usdOf(carried.nanos + carried.unknownNanos + all)',
      'usdOf(carried.nanos + carried.unknownNanos + reportedNanos)',
    ],
  ],
  [
    'account: a turn that was requested and not ended does not count',
    ['@analysis/account/account'],
    [
      '@analysis/account/recorded-progress.ts',
      'turns: spent.turns + (spent.turnBegins && isAsked(requests, spent) ? 1 : 0)',
      'turns: spent.turns',
    ],
  ],
  [
    'account: a request of a subagent asks the turn of the run',
    ['@analysis/account/account'],
    [
      '@analysis/account/recorded-progress.ts',
      "scope === '' && phase === 'model' && request",
      "phase === 'model' && request",
    ],
  ],
  [
    'account: time that was carried over is no time of an open run',
    ['@analysis/account/account'],
    [
      '@analysis/account/recorded-progress.ts',
      'activeMs: carried.now - carried.startedAt + lastTimeOf(records)',
      'activeMs: lastTimeOf(records)',
    ],
  ],
  [
    'account: what the session spent before is not held against its budget',
    ['@analysis/account/account'],
    ['@analysis/account/limits.ts', 'used: spentBeforeUsd + totals.committedUsd', 'used: totals.committedUsd'],
  ],
  [
    'account: a moment of several steps counts for each',
    ['@analysis/account/account'],
    [
      '@analysis/account/time-by-phase.ts',
      'if (counted !== undefined) totals[counted] += at - last',
      'if (counted !== undefined) for (const each of order) if (active[each] > 0) totals[each] += at - last',
    ],
  ],
  [
    'what if: a limit that the run had stops it again',
    ['@analysis/what-if/other-ways'],
    ['@analysis/what-if/other-limits.ts', 'had === null || tried < had', 'had === null || tried <= had'],
  ],
  [
    'what if: one turn more than the limit',
    ['@analysis/what-if/what-if'],
    ['@analysis/what-if/stops.ts', 'if (begun >= max || (verifies', 'if (begun > max || (verifies'],
  ],
  [
    'what if: a recovery is a turn',
    ['@analysis/what-if/what-if'],
    ['@analysis/what-if/stops.ts', 'if (!countsAsTurn) continue', 'if (countsAsTurn === null) continue'],
  ],
  [
    'what if: turns that were carried over are new ones',
    ['@analysis/what-if/what-if'],
    ['@analysis/what-if/stops.ts', 'let begun = carried.turns', 'let begun = 0 * carried.turns'],
  ],
  [
    'what if: time that was carried over is there again',
    ['@analysis/what-if/what-if'],
    ['@analysis/what-if/stops.ts', 'Math.max(0, max - carried.ms)', 'Math.max(0, max - 0 * carried.ms)'],
  ],
  [
    'what if: money that was carried over is there again',
    ['@analysis/what-if/what-if'],
    [
      '@analysis/what-if/budget-stops.ts',
      'nanosOf(limits.spentBeforeUsd) + carried.nanos',
      'nanosOf(limits.spentBeforeUsd)',
    ],
  ],
  [
    'what if: money that the session spent before is there again',
    ['@analysis/what-if/what-if'],
    ['@analysis/what-if/budget-stops.ts', 'nanosOf(limits.spentBeforeUsd) + carried.nanos', 'carried.nanos'],
  ],
  [
    'what if: a request that takes all that is left is not made',
    ['@analysis/what-if/what-if'],
    ['@analysis/what-if/budget-stops.ts', 'if (left < least) return', 'if (left <= least) return'],
  ],
  [
    'what if: the model is reminded where no turn is left',
    ['@analysis/what-if/what-if'],
    ['@analysis/what-if/stops.ts', 'at.wholeTurns - 1 : wholeTurnsOf(at)', 'at.wholeTurns : wholeTurnsOf(at)'],
  ],
  [
    'what if: a run that the guard ended later is the same',
    ['@analysis/what-if/what-if'],
    ['@analysis/what-if/stops.ts', 'const isEnd = wholeTurns + 1 >= turns.length', 'const isEnd = wholeTurns > 0'],
  ],
  [
    'what if: what a person says in between is passed over',
    ['@analysis/what-if/what-if'],
    ['@analysis/what-if/stops.ts', '    if (isFreshBefore === true) recent = []\n', ''],
  ],
  [
    'what if: the turn that closes the circle is not made',
    ['@analysis/what-if/what-if'],
    ['@analysis/what-if/stops.ts', 'const wholeTurns = index + 1', 'const wholeTurns = index'],
  ],
  [
    'what if: a request that would have begun when the time is up is made',
    ['@analysis/what-if/other-ways'],
    ['@analysis/what-if/what-if.ts', 'beganMs < cut.atMs', 'beganMs <= cut.atMs'],
  ],
  [
    'what if: a request that time cuts is free',
    ['@analysis/what-if/other-ways'],
    ['@analysis/what-if/what-if.ts', '({ beganMs }) => beganMs < cut.atMs', '({ endMs }) => endMs < cut.atMs'],
  ],
  [
    'what if: calls that had ended before the time is up are lost',
    ['@analysis/what-if/what-if'],
    ['@analysis/what-if/what-if.ts', 'turn.calls.filter(({ endMs }) => endMs > cut.atMs)', 'turn.calls'],
  ],
  [
    'what if: the latest stop counts',
    ['@analysis/what-if/several-limits'],
    ['@analysis/what-if/stops.ts', 'compared(placeOf(a), placeOf(b))', 'compared(placeOf(b), placeOf(a))'],
  ],
  [
    'what if: the moment within a turn does not count',
    ['@analysis/what-if/several-limits'],
    ['@analysis/what-if/stops.ts', 'return a.atMs === b.atMs ? 0 : a.atMs - b.atMs', 'return 0'],
  ],
  [
    'what if: a reply is cut in the name of tokens where dollars lower its cap, too',
    ['@analysis/what-if/several-limits'],
    [
      '@analysis/what-if/budget-stops.ts',
      'fits.find(({ isLowered }) => isLowered)',
      'fits.findLast(({ isLowered }) => isLowered)',
    ],
  ],
  [
    'what if: reminders of the model cost nothing',
    ['@analysis/what-if/several-limits'],
    ['@analysis/what-if/stops.ts', 'withNudge(trajectory.turns, remindedAfter)', 'trajectory.turns'],
  ],
  [
    'what if: a wider limit changes nothing',
    ['@analysis/what-if/what-if'],
    ['@analysis/what-if/what-if.ts', 'return other === null || other > (', 'return other !== null && other < ('],
  ],
  [
    'what if: a limit that loses the answer of a run is suggested',
    ['@analysis/what-if/what-if'],
    ['@analysis/what-if/suggest-limits.ts', '!lost.answer && Object', 'Object'],
  ],
  [
    'what if: a limit that loses changes is suggested',
    ['@analysis/what-if/what-if'],
    [
      '@analysis/what-if/suggest-limits.ts',
      'Object.keys(lost.changes).length === 0',
      'Object.keys(lost.changes).length >= 0',
    ],
  ],
  [
    'what if: a turn that was granted and not asked is one',
    ['@analysis/what-if/what-if'],
    [
      '@analysis/what-if/trajectory.ts',
      'close(record, false, record.spent.turns > progress.turns)',
      'close(record, false, true)',
    ],
  ],
  [
    'what if: a request that the limits refused was asked',
    ['@analysis/what-if/what-if'],
    [
      '@analysis/what-if/trajectory.ts',
      "? isJsonObject(record.intent) && record.intent['granted'] === true",
      '? isJsonObject(record.intent)',
    ],
  ],
  [
    'what if: a wait of a subagent is one of the run',
    ['@analysis/what-if/what-if'],
    [
      '@analysis/what-if/trajectory.ts',
      "scope === '' && durationMs >= waitThresholdMs",
      'durationMs >= waitThresholdMs',
    ],
  ],
  [
    'what if: what waited in a run is not known of it',
    ['@analysis/what-if/what-if'],
    [
      '@analysis/what-if/trajectory.ts',
      "scope === '' && durationMs >= waitThresholdMs",
      "scope === '' && durationMs > waitThresholdMs",
    ],
  ],
  [
    'what if: a nudge is no fresh beginning',
    ['@analysis/what-if/what-if'],
    [
      '@analysis/what-if/trajectory.ts',
      "transition === 'user_input' || isRestart ||",
      "transition === 'user_input' ||",
    ],
  ],
  [
    'what if: a request whose reply was lost with its process was not paid',
    ['steps/lost-requests'],
    ['@analysis/what-if/trajectory.ts', '  return hasEnded ? new Set([', '  return !hasEnded ? new Set(['],
  ],
  [
    'what if: an open request was paid',
    ['@analysis/what-if/what-if'],
    [
      '@analysis/what-if/trajectory.ts',
      'requests.filter((request) => !request.isOpen || lost.has(nameOf(request)))',
      'requests',
    ],
  ],
  [
    'what if: of a call of another program the first result is what the model was shown',
    ['@analysis/what-if/foreign-trajectory'],
    [
      '@analysis/what-if/foreign-trajectory.ts',
      "results.set(callId, { type: 'tool_result', tool_use_id: callId, content })",
      "if (!results.has(callId)) results.set(callId, { type: 'tool_result', tool_use_id: callId, content })",
    ],
  ],
  [
    'what if: what another program paid for subagents is free',
    ['@analysis/what-if/foreign-trajectory'],
    ['@analysis/what-if/foreign-trajectory.ts', '...agentRequests.map(', '...agentRequests.slice(1).map('],
  ],
  [
    'what if: a turn of another program never waits',
    ['@analysis/what-if/foreign-trajectory'],
    [
      '@analysis/what-if/foreign-trajectory.ts',
      'some((ms) => ms >= waitThresholdMs)',
      'some((ms) => ms >= 9 * waitThresholdMs)',
    ],
  ],
  [
    'what if: a reply that fits is cut',
    ['@analysis/what-if/what-if'],
    ['@analysis/what-if/budget-stops.ts', '(!isLowered || fits)', '!isLowered'],
  ],
  [
    'what if: what is reserved for other requests is left',
    ['@analysis/what-if/other-ways'],
    [
      '@analysis/what-if/budget-stops.ts',
      'left - this.#maxOf(payment), this.#unspent',
      'left - 0 * this.#maxOf(payment), this.#unspent',
    ],
  ],
  [
    'what if: a request of a subagent that does not fit ends the run',
    ['@analysis/what-if/other-ways'],
    ['@analysis/what-if/budget-stops.ts', "if (payment.of !== 'run' || limited.some(", 'if (limited.some('],
  ],
  [
    'what if: a subagent takes as many turns as it likes',
    ['@analysis/what-if/other-ways'],
    ['@analysis/what-if/stops.ts', 'agentTurns > max', 'agentTurns > max + 9'],
  ],
  [
    'what if: a call that was denied changed something',
    ['@analysis/what-if/other-ways'],
    ['@analysis/what-if/what-if.ts', 'if (call.hasRun && changes(call))', 'if (changes(call))'],
  ],
  [
    'what if: a question that waits for a person is nothing',
    ['@analysis/what-if/other-ways'],
    ['@analysis/what-if/what-if.ts', "ending.reason === 'needs_approval' || ", ''],
  ],
  [
    'what if: a last answer at a limit does not count',
    ['@analysis/what-if/other-ways'],
    ['@analysis/what-if/what-if.ts', 'ending.hasAnswer || ', ''],
  ],
  [
    'what if: a limit may be suggested for which a run would have gone another way',
    ['@analysis/what-if/other-ways'],
    ['@analysis/what-if/suggest-limits.ts', ' && unknownFrom === null', ''],
  ],
  [
    'what if: what a run carries over is not needed',
    ['@analysis/what-if/other-ways'],
    ['@analysis/what-if/suggest-limits.ts', 'Math.max(carried.turns + own,', 'Math.max(own,'],
  ],
].map(([name, tests, ...changes]) => ({ name: String(name), tests, changes }))
