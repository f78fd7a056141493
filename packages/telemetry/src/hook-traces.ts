import type { RunEvent } from '@halting/core'
import { conventionAttributes as told, ownAttributes as own } from './names.ts'
import type { TraceNode } from './node.ts'
import type { TraceScope } from './scope.ts'

type EventOf<Type extends RunEvent['type']> = Extract<RunEvent, { readonly type: Type }>
type HookOf = Pick<EventOf<'hook_start'>, 'hook' | 'trigger' | 'callId'>

/** The calls of hooks of one run that are under way. One hook may be called several times at once: then the first that began ends first. */
export class HookTraces {
  readonly #scope: TraceScope
  readonly #open = new Map<string, TraceNode[]>()

  constructor(scope: TraceScope) {
    this.#scope = scope
  }

  start(about: HookOf, node: TraceNode): void {
    const key = keyOf(about)
    const open = this.#open.get(key)
    if (open === undefined) this.#open.set(key, [node])
    else open.push(node)
  }

  end(event: EventOf<'hook_end'>): void {
    const key = keyOf(event)
    const open = this.#open.get(key)
    const node = open?.shift()
    if (open?.length === 0) this.#open.delete(key)
    if (node?.isBegun !== true) return
    const { outcome, durationMs } = event
    const { texts, now } = this.#scope
    node.set(own.durationMs[0], durationMs)
    if (outcome.error !== undefined) {
      node.set(told.errorType, 'hook_failed')
      // A command that fails may print what it was given.
      node.fail(texts.foreign(outcome.error))
    }
    node.end(now())
  }

  close(at: number): void {
    for (const node of [...this.#open.values()].flat()) node.abandon(at)
    this.#open.clear()
  }
}

function keyOf({ hook, trigger, callId }: HookOf): string {
  return `${hook}\n${trigger}\n${callId ?? ''}`
}
