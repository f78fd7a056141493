// Mutations of waits for services: what is waited for, how long, and what holds meanwhile.
// [name, test files that check the promise, [file, text in it, replacement]...]
export const promisesOfWaits = [
  [
    'waits: a limit that says no time is waited for',
    ['limits/service-waits'],
    ['model/service-limit.ts', 'return retryAfterMs !== null', 'return true'],
  ],
  [
    'waits: what nobody mends by waiting is waited for',
    ['limits/service-waits'],
    ['model/service-limit.ts', '  if (!retryable) return false\n', ''],
  ],
  [
    'waits: a long wait uses up retries',
    ['limits/service-waits'],
    [
      'request/wait-for-service.ts',
      'if (!isFinal && !isLong) return undefined',
      'if (!isFinal && isLong) return undefined',
    ],
  ],
  [
    'waits: shorter than the service said',
    ['limits/service-waits'],
    ['model/service-limit.ts', 'const waitForMs = Math.max(requestedMs, minMs)', 'const waitForMs = minMs'],
  ],
  [
    'waits: no longer where a service says too little for ever',
    ['limits/service-waits'],
    ['model/service-limit.ts', 'firstMs * 2 ** Math.min(number - 1, 10)', 'firstMs'],
  ],
  [
    'waits: begun anew by each process',
    ['limits/service-waits', 'steps/timed-wait'],
    ['steps/durable-step-engine.ts', 'const times = recorded ?? (', 'const times = ('],
  ],
  [
    'waits: from when a process went on, not from the failure',
    ['limits/service-waits'],
    ['request/wait-for-service.ts', 'Math.max(0, wantedMs - agoMs)', 'Math.max(wantedMs, -agoMs)'],
  ],
  [
    'waits: active time goes on',
    ['limits/service-waits'],
    [
      'request/wait-for-service.ts',
      'const times = [deadline, ...(plan.times ?? [])]',
      'const times = [...(plan.times ?? [])]',
    ],
  ],
  [
    'waits: agents side by side each have the whole time',
    ['limits/service-waits'],
    [
      'request/wait-for-service.ts',
      'export function mayWaitAfter({ context, ports }: Run,',
      'export function mayWaitAfter({ context, spent }: Run,',
    ],
    [
      'request/wait-for-service.ts',
      'ports.waitTime.leftMs(waitForLimitsMs, atMs)',
      'waitForLimitsMs - (spent.waits?.ms ?? 0)',
    ],
  ],
  [
    'waits: what goes on at the same time counts twice',
    ['limits/service-waits'],
    ['model/service-waits.ts', 'span.sinceMs > last.untilMs', 'span.sinceMs > 0'],
  ],
  [
    'waits: those before a resume are forgotten',
    ['limits/service-waits'],
    [
      'model/service-waits.ts',
      'this.#past = before ?? noWaits',
      'this.#past = { ms: 0, untilMs: 0, ...(before && {}) }',
    ],
  ],
  [
    'waits: what the clock was set back counts as waited',
    ['limits/service-waits'],
    ['model/service-waits.ts', 'isLive ? Math.max(0, this.#endedMs - wanted.sinceMs) : 0', '0 * Number(isLive)'],
  ],
  [
    'waits: in vain, where the time does not reach',
    ['limits/service-waits'],
    [
      'model/service-limit.ts',
      'if (leftMs <= 0 || leftMs < Math.max(requestedMs, longestQuietWaitMs)) return undefined',
      'if (leftMs <= 0) return undefined',
    ],
  ],
  [
    'waits: a retry that is asked for ends none',
    ['limits/service-waits'],
    ['steps/inbox.ts', "return this.#wake('retried')", 'return false'],
  ],
  [
    'waits: a retry that is asked for ends none of an agent',
    ['limits/service-waits'],
    ['steps/inbox.ts', "why === 'model' ? undefined : listener(why)", "why !== 'stopped' ? undefined : listener(why)"],
  ],
  [
    'waits: another model that is set ends none',
    ['limits/service-waits'],
    ['request/ask-model.ts', "if (end !== 'aborted') this.#asking = ", "if (end === 'over') this.#asking = "],
  ],
  [
    'waits: a limit that is lowered meanwhile holds from the next turn only',
    ['limits/service-waits'],
    ['request/ask-model.ts', "if (end !== 'aborted') this.#asking = ", "if (end === 'model') this.#asking = "],
  ],
  [
    'waits: another model ends that of a question, again and again',
    ['limits/service-waits'],
    [
      'request/wait-for-service.ts',
      'const isOther = isRenewable && this.#chosenModelId(chosen) !== plan.model.id',
      'const isOther = this.#chosenModelId(chosen) !== plan.model.id',
    ],
  ],
  [
    'waits: the time of a question goes on',
    ['limits/service-waits'],
    ['request/wait-for-service.ts', 'const times = [deadline, ...(plan.times ?? [])]', 'const times = [deadline]'],
  ],
  [
    'waits: a request with a wrong key is asked to retry',
    ['limits/service-waits'],
    ['request/model-call.ts', 'isServiceLimit(error) && retryAfterMs !== null', 'retryAfterMs !== null'],
  ],
  [
    'waits: a run waits for its agents by a timer that goes on',
    ['limits/service-waits'],
    ['run/tasks.ts', 'deadline.after(longestMs,', 'run.context.timers.after(longestMs,'],
  ],
  [
    'waits: a stop asks the service once more',
    ['limits/service-waits'],
    ['request/ask-model.ts', "    if (end === 'stopped') return { ...failure, wasStopped: true }\n", ''],
  ],
  [
    'waits: nobody says when the service takes requests again',
    ['limits/service-waits'],
    ['request/model-call.ts', '      ...(retryAtMs !== undefined && { retryAtMs }),\n', ''],
  ],
  [
    'waits: a summary beside the turn waits for its service',
    ['context/faults'],
    ['request/wait-for-service.ts', 'plan.isOptional === true || mayWait', 'mayWait'],
  ],
].map(([name, tests, ...changes]) => ({ name: String(name), tests, changes }))
