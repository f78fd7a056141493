import type { Attributes } from '@opentelemetry/api'
import type { RunEvent, RunResult } from '@halting/core'
import { exportedName } from './content.ts'
import { eventNames, ownAttributes as own } from './names.ts'
import type { TraceNode } from './node.ts'
import type { TraceScope } from './scope.ts'

type EventOf<Type extends RunEvent['type']> = Extract<RunEvent, { readonly type: Type }>
type Check = EventOf<'goal_end'>['checks'][number]

/**
 * Spans of the check rounds of one run, one at a time. Output of checks is content, and so are the criteria of a judge.
 */
export class GoalTraces {
  readonly #scope: TraceScope
  #open: TraceNode | undefined

  constructor(scope: TraceScope) {
    this.#scope = scope
  }

  /** The current round, in which judges are asked. */
  get node(): TraceNode | undefined {
    return this.#open
  }

  /** Returns the attributes of a round at its start. */
  aboutStart({ place, tries, maxTries }: EventOf<'goal_start'>): Attributes {
    return { [own.goalPlace[0]]: place, [own.goalTries[0]]: tries, [own.goalMaxTries[0]]: maxTries }
  }

  start(node: TraceNode): void {
    this.#open?.abandon(this.#scope.now())
    this.#open = node
  }

  end({ place, met, checks, tampered, changedTests, flaky, durationMs }: EventOf<'goal_end'>): void {
    const node = this.#open
    this.#open = undefined
    if (node?.isBegun !== true) return
    const { instruments, now } = this.#scope
    const at = now()
    const verdict = met ? 'met' : 'unmet'
    node.set(own.goalVerdict[0], verdict)
    node.set(own.goalTampered[0], tampered.length)
    node.set(own.goalChangedTests[0], changedTests.length)
    node.set(own.goalFlaky[0], flaky)
    node.set(own.durationMs[0], durationMs)
    for (const check of checks) node.event(eventNames.check[0], this.#aboutCheck(check), at)
    node.end(at)
    const about = { [own.goalPlace[0]]: place, [own.goalVerdict[0]]: verdict }
    instruments?.goalRounds.add(1, about)
    instruments?.goalDuration.record(durationMs / 1000, about)
  }

  #aboutCheck({ name, judged, met, exitCode, timedOut, durationMs, tail }: Check): Attributes {
    const { texts } = this.#scope
    // A person wrote the criteria of a judge like a prompt; a command may contain a secret.
    const isNamed = judged !== true || texts.wants.prompts
    return {
      ...(isNamed && { [own.goalName[0]]: exportedName(texts.text(name)) }),
      [own.goalVerdict[0]]: met ? 'met' : 'unmet',
      ...(exitCode !== null && { [own.exitCode[0]]: exitCode }),
      ...(timedOut === true && { [own.timedOut[0]]: true }),
      [own.durationMs[0]]: durationMs,
      ...(texts.wants.toolResults && { [own.goalReport[0]]: texts.text(tail) }),
    }
  }

  close(at: number): void {
    this.#open?.abandon(at)
    this.#open = undefined
  }
}

/** Returns how a run with goals ended; an empty object without goals. */
export function goalAttributes({ goal }: RunResult): Attributes {
  if (goal === undefined) return {}
  return { [own.goalVerdict[0]]: verdictOf(goal), [own.goalTries[0]]: goal.tries }
}

/** `met`, `unmet` or `unknown`. */
export function verdictOf({ met }: NonNullable<RunResult['goal']>): string {
  return met === 'unknown' ? met : met ? 'met' : 'unmet'
}
