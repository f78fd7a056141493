import type { Attributes } from '@opentelemetry/api'
import type { RunEvent } from '@halting/core'
import { exportedName } from './content.ts'
import { conventionAttributes as genAi, ownAttributes as own, spanNames } from './names.ts'
import { TraceNode } from './node.ts'
import type { TraceScope } from './scope.ts'

type EventOf<Type extends RunEvent['type']> = Extract<RunEvent, { readonly type: Type }>
type About = Pick<EventOf<'service_wait'>, 'model' | 'error'>

interface OpenWait extends About {
  readonly parent: TraceNode
  readonly beganAt: number
}

/**
 * Spans of the waits of one run: for services, for reservations of others, and at limits. A span is created when its
 * wait is over, with a start before it. A wait that an earlier process started has its whole duration.
 */
export class WaitTraces {
  readonly #scope: TraceScope
  readonly #run: Attributes
  /** Current waits for services in this process. */
  #open: readonly OpenWait[] = []

  /** `run` has the metric attributes of the run. */
  constructor(scope: TraceScope, run: Attributes) {
    this.#scope = scope
    this.#run = run
  }

  serviceWaits({ model, error }: EventOf<'service_wait'>, parent: TraceNode): void {
    this.#open = [...this.#open, { model, error, parent, beganAt: this.#scope.now() }]
  }

  serviceWaited({ outcome, waitedMs, ...about }: EventOf<'service_waited'>, parent: TraceNode): void {
    const openWait = this.#open.find((wait) => isSame(wait, about))
    this.#open = this.#open.filter((wait) => wait !== openWait)
    const figures = { [own.serviceOutcome[0]]: outcome, [own.serviceWaitedMs[0]]: waitedMs }
    this.#span(
      spanNames.serviceWait[0],
      waitedMs,
      { ...this.#aboutService(about), ...figures },
      openWait?.parent ?? parent,
    )
    const { instruments, providerOf } = this.#scope
    instruments?.serviceWaits.record(waitedMs / 1_000, {
      [genAi.requestModel]: exportedName(about.model),
      [genAi.provider]: providerOf(about.model),
      [genAi.errorType]: about.error.kind,
      [own.serviceOutcome[0]]: outcome,
      ...this.#run,
    })
  }

  budgetWaited({ outcome, waitedMs, reservedUsd, budget }: EventOf<'budget_waited'>, parent: TraceNode): Attributes {
    const about: Attributes = {
      [own.waitOutcome[0]]: outcome,
      ...(budget !== undefined && { [own.budget[0]]: exportedName(budget) }),
    }
    const figures = { ...about, [own.waitedMs[0]]: waitedMs, [own.reservedUsd[0]]: reservedUsd }
    this.#span(spanNames.budgetWait[0], waitedMs, figures, parent)
    this.#scope.instruments?.budgetWaits.record(waitedMs / 1_000, { ...about, ...this.#run })
    return figures
  }

  limitPaused({ limit, outcome, waitedMs }: EventOf<'limit_answered'>, parent: TraceNode): void {
    const about = { [own.limit[0]]: limit, [own.limitOutcome[0]]: outcome }
    this.#span(spanNames.limitPause[0], waitedMs, { ...about, [own.limitWaitedMs[0]]: waitedMs }, parent)
    this.#scope.instruments?.limitPauses.record(waitedMs / 1_000, { ...about, ...this.#run })
  }

  /** Ends the waits that are still open. */
  close(at: number): void {
    for (const { parent, beganAt, ...about } of this.#open) {
      const node = this.#node(spanNames.serviceWait[0], beganAt, this.#aboutService(about), parent)
      node.abandon(at)
    }
    this.#open = []
  }

  #aboutService({ model, error: { kind, status, message } }: About): Attributes {
    const { texts, providerOf } = this.#scope
    return {
      [genAi.requestModel]: exportedName(model),
      [genAi.provider]: providerOf(model),
      [genAi.errorType]: kind,
      ...(status !== null && { [genAi.statusCode]: status }),
      [own.message[0]]: texts.text(message),
    }
  }

  #span(name: string, waitedMs: number, attributes: Attributes, parent: TraceNode): void {
    const at = this.#scope.now()
    // The duration may be invalid because of a changed clock or a forged record.
    const ms = waitedMs > 0 && waitedMs <= at ? waitedMs : 0
    this.#node(name, at - ms, attributes, parent).end(at)
  }

  #node(name: string, startTime: number, attributes: Attributes, parent: TraceNode): TraceNode {
    const { tracing, api } = this.#scope
    const node = new TraceNode(tracing, parent, name, { kind: api.SpanKind.INTERNAL, attributes, startTime })
    node.begin()
    return node
  }
}

/** Both events of a wait report the same failure. */
function isSame(a: About, b: About): boolean {
  return a.model === b.model && a.error.kind === b.error.kind && a.error.message === b.error.message
}
