// Mutations of what can be observed and done during a run, and of what one run of a session passes on to the next.
// [name, test files that check the promise, [file, text in it, replacement]...]
export const promisesOfLiveRuns = [
  [
    'inbox: follow-ups before steering',
    ['order-of-evaluation'],
    [
      'steps/inbox.ts',
      'const taken = all ? this.#waiting :',
      'const taken = all ? this.#waiting.toSorted((a, b) => (a.kind < b.kind ? -1 : a.kind > b.kind ? 1 : 0)) :',
    ],
  ],
  [
    'inbox: steering before follow-ups at the end',
    ['order-of-evaluation'],
    [
      'steps/inbox.ts',
      'const taken = all ? this.#waiting :',
      'const taken = all ? this.#waiting.toSorted((a, b) => (a.kind > b.kind ? -1 : a.kind < b.kind ? 1 : 0)) :',
    ],
  ],
  [
    'inbox: the last one first',
    ['order-of-evaluation'],
    [
      'steps/inbox.ts',
      'const taken = all ? this.#waiting : this.#waiting.filter',
      'const taken = all ? this.#waiting.toReversed() : this.#waiting.toReversed().filter',
    ],
  ],
  [
    'inbox: follow-ups before the run would end',
    ['order-of-evaluation'],
    [
      'run/cancellation-points.ts',
      "run.ports.inbox.takeMessages(place === 'end')",
      'run.ports.inbox.takeMessages(true)',
    ],
  ],
  [
    'outside: a stop is lost beside a cancellation source',
    ['guards/sources'],
    ['run/cancellation-points.ts', ': pollSources(run, signals)', ': pollSources(run, [])'],
  ],
  [
    'outside: the last answer takes messages and stops in',
    ['decisions'],
    ['loop/prepare.ts', '  if (run.spent.closing !== null) return checkMedia(run)\n', ''],
  ],
  [
    'event figures: none after an amount was reserved',
    ['live/figures'],
    [
      'request/attempt.ts',
      '      if (reservation !== undefined && run.ports.hasListener()) emitFigures(run, emit, estimateRequest(run))\n',
      '',
    ],
  ],
  [
    'event figures: made for nobody',
    ['live/figures'],
    ['request/attempt.ts', '        if (!run.ports.hasListener()) return attempted\n', ''],
  ],
  [
    'event figures: what is left is below zero',
    ['live/figures'],
    ['request/emit-figures.ts', 'null : Math.max(0, amount)', 'null : amount'],
  ],
  [
    'event figures: those of the emitting agent',
    ['live/figures'],
    [
      'request/emit-figures.ts',
      'const { rootLedger, rootDeadline } = run.ports',
      'const { ledger: rootLedger, rootDeadline } = run.ports',
    ],
  ],
  [
    'event figures: the time of the emitting agent',
    ['live/figures'],
    [
      'request/emit-figures.ts',
      'const { rootLedger, rootDeadline } = run.ports',
      'const { rootLedger, deadline: rootDeadline } = run.ports',
    ],
  ],
  [
    'money waits: what others only reserved refuses a request',
    ['budget/budget-waits'],
    ['request/reserve.ts', 'Amount => ledger.unspent()', 'Amount => ledger.available()'],
  ],
  [
    'money waits: who came later goes first',
    ['budget/budget-waits'],
    ['request/reserve.ts', '= run.ports.ledger.queue.claimed', '= new Set()'],
  ],
  [
    'money waits: what a failed driver had reserved never comes back',
    ['budget/budget-waits'],
    [
      'request/attempt.ts',
      '  if (sent instanceof Promise && mayHoldReservation(reserved, standing)) sent.catch(settleAfterFailure)\n',
      '',
    ],
  ],
  [
    'money waits: a settlement lets nobody look again',
    ['budget/budget-waits'],
    [
      'limits/ledger.ts',
      'if (!isKnown) line.unknown = addAmounts(line.unknown, settled)\n    }\n    this.queue.retryWaiting()',
      'if (!isKnown) line.unknown = addAmounts(line.unknown, settled)\n    }',
    ],
  ],
  [
    'money of a lease: what a request may still cost is given back before its result is on record',
    ['budget/lease-waits'],
    ['limits/lease-line.ts', 'Math.max(0, reservation.amount.nanos - spentNanos)', '0'],
  ],
  [
    'money of a lease: who waits for it keeps its turn at the gate',
    ['budget/lease-waits'],
    ['request/attempt.ts', '  admission?.leave()\n  return { waits:', '  return { waits:'],
  ],
  [
    'budget: a count that falls is believed',
    ['budget/falling-count'],
    ['request/prompt-count.ts', 'tokens < highest.prompt', 'tokens < 0'],
  ],
  [
    'budget: a paused reply has no room to be read again',
    ['budget/paused-reply'],
    ['request/input-bound.ts', '? overheadOfMessage(last) : 0', '? 0 : 0'],
  ],
  [
    'event figures: the reply is not in the window',
    ['live/figures'],
    ['loop/ask.ts', ': pass.inputTokens + pass.outputTokens', ': pass.inputTokens'],
  ],
  [
    'settings: limits that were set are kept by nobody',
    ['live/settings'],
    ['run/run.ts', '    if (this.identity.depth === 0) this.ports.onSettings(settings, this.context.settings)\n', ''],
  ],
  [
    'settings: the deadline stays where it was',
    ['live/settings'],
    ['api/iterate.ts', '    ports.deadline.setLimit(limits.maxDurationMs)\n', ''],
  ],
  [
    'settings: a resumed run goes by its options',
    ['live/settings'],
    [
      'run/run.ts',
      'this.context = this.#contextOf(start.spent)',
      'this.context = this.#contextOf({ ...start.spent, settings: null })',
    ],
  ],
  [
    'settings: the ledger of a resumed run has the limits of the options',
    ['live/settings'],
    ['api/iterate.ts', '  if (start.spent.settings !== null) limitLedgers(settings, ledger, sessionLedger)\n', ''],
  ],
  [
    'settings: a model that is gone is found out in the middle of a resume',
    ['live/settings'],
    ['api/resume.ts', '    contextWithSettings(context, inForce)\n', ''],
  ],
  [
    'settings: what is set in a resumed run is held against the options alone',
    ['live/settings'],
    ['api/iterate.ts', '{ inForce: context.inForce ?? start.spent.settings }', '{ inForce: start.spent.settings }'],
  ],
  [
    'settings: what is set above the bound of a guard',
    ['live/settings'],
    ['run/context-with-settings.ts', 'Math.min(set ?? Infinity, bound)', '(set ?? Infinity)'],
  ],
  [
    'settings: a limit that was lowered is not looked at before a turn',
    ['live/settings'],
    ['loop/prepare.ts', '  externalInput,\n  loweredLimits,\n', '  externalInput,\n'],
  ],
  [
    'settings: the fallback goes before a model that was set after it',
    ['live/settings'],
    [
      'state/settings-change.ts',
      'change.model === undefined || !hasFallenBack ? isPastFallback : true',
      'hasFallenBack ? isPastFallback : isPastFallback',
    ],
  ],
  [
    'settings: of two changes of limits the first is lost',
    ['live/settings'],
    ['state/settings-change.ts', 'limits: { ...first.limits, ...limits } })', 'limits })'],
  ],
  [
    'settings: a subagent begins without what was set',
    ['live/settings'],
    ['tool-calls/child-run.ts', 'const { permissionMode = settings.permissionMode,', 'const { permissionMode = null,'],
  ],
  [
    'inbox: an id that was taken is taken again',
    ['live/inbox'],
    ['steps/inbox.ts', '    for (const id of ids) this.#takenIds().add(id)\n', ''],
  ],
  [
    'inbox: a derived id that was taken before',
    ['live/inbox'],
    ['steps/inbox.ts', 'while (this.#isKnown(id))', "while (id === '')"],
  ],
  [
    'inbox: what a past turn took is forgotten by a resume',
    ['live/inbox'],
    ['api/resume.ts', '...inboxIdsOf(folded.state.transcript), ...inboxIdsIn', '...inboxIdsIn'],
  ],
  [
    'inbox: what the open turn took is forgotten by a resume',
    ['live/inbox'],
    ['api/resume.ts', ', ...inboxIdsIn(folded.replay)]', ']'],
  ],
  ['inbox: what was not recorded is lost', ['live/inbox'], ['api/iterate.ts', '    inbox.restoreUnrecorded()\n', '']],
  [
    'inbox: what is being recorded can be taken back',
    ['live/inbox'],
    [
      'steps/inbox.ts',
      "    this.#waiting = all ? noMessages : this.#waiting.filter(({ kind }) => kind !== 'steer')\n",
      '',
    ],
  ],
  [
    'inbox: a taken message is not reported',
    ['live/inbox'],
    ['run/run.ts', 'origin: kind, inboxId })', 'origin: kind })'],
  ],
  [
    'catching up: a reader has no turn',
    ['engine/reader'],
    ['loop/loop.ts', /      await run\.ports\.catchUp\(\)[^\n]*\n/, ''],
  ],
  [
    'catching up: a slow reader is waited for',
    ['engine/reader'],
    ['api/event-queue.ts', 'size > 0 && patience > 0; patience--', 'size > 0 && patience > 0; patience -= 0'],
  ],
  [
    'catching up: a reader behind several generators has no turn',
    ['engine/reader'],
    ['api/event-queue.ts', 'const ticksPerEvent = 16', 'const ticksPerEvent = 2'],
  ],
  [
    'left: what there was before the lap',
    ['transition/retry-limits'],
    ['run/run.ts', 'left: retriesLeft(iterations, limits)', 'left: retriesLeft(before, limits)'],
  ],
  [
    'left: a number that is no JSON',
    ['transition/retry-limits'],
    ['limits/transition-rules.ts', 'const turnsLeft = turns === Infinity ? null : turns', 'const turnsLeft = turns'],
  ],
  [
    'left: what a refill filled stays spent',
    ['transition/retry-limits'],
    [
      'limits/transition-rules.ts',
      'transitionRules.stop_hook_blocking.iterations - (sinceRefill.stop_hook_blocking ?? 0)',
      'transitionRules.stop_hook_blocking.iterations - (inRun.stop_hook_blocking ?? 0)',
    ],
  ],
  [
    'session: a stop that came too late stops the next run',
    ['engine/session'],
    ['api/engine.ts', '    this.#inbox.takeSignals()\n', ''],
  ],
  [
    'session: what was set too late is taken by the next run',
    ['live/engine-settings'],
    ['api/engine.ts', '    this.#inbox.takeSettings()\n', ''],
  ],
  [
    'session: what was set holds for one run',
    ['live/engine-settings'],
    ['api/engine.ts', '    this.#inForce = settingsAfter(this.#inForce, { ...checked, untilBefore }, false)\n', ''],
  ],
  [
    'session: a new prompt aborts as a person would',
    ['engine/query'],
    ['api/engine.ts', "this.#current.loop.abort('interrupt')", 'this.#current.loop.abort()'],
  ],
  [
    'orphans: a writing tool does not wait for one that is deaf',
    ['engine/session'],
    [
      'tool-calls/run-call.ts',
      'call.readOnly ? undefined : orphanedTools.settled()',
      'call.index >= 0 ? undefined : orphanedTools.settled()',
    ],
  ],
  [
    'guards event: one that fails breaks the run',
    ['live/guards'],
    [
      'run/cancellation-points.ts',
      '  } catch {\n    // `evaluate`',
      '  } catch (error) {\n    if (error !== undefined) throw error\n    // `evaluate`',
    ],
  ],
].map(([name, tests, ...changes]) => ({ name: String(name), tests, changes }))
