import type { RunEvent } from '../state/events.ts'
import { failureName } from '../model/model-error.ts'
import type { WaitingRequest } from './session.ts'

const none: readonly WaitingRequest[] = Object.freeze([])

/** The requests of a run and of its agents that wait for their services, in the order in which they began to. */
export class ServiceWaitsView {
  #present: readonly WaitingRequest[] = none

  get present(): readonly WaitingRequest[] {
    return this.#present
  }

  /** Another run begins, or this one has ended. */
  clear(): void {
    this.#present = none
  }

  /** True when there is another one, or one less. */
  onEvent(event: RunEvent, callIds: readonly string[] = []): boolean {
    switch (event.type) {
      case 'agent':
        return this.onEvent(event.event, [...callIds, event.callId])
      case 'service_wait': {
        const { isWaiting, model, sinceMs, untilMs, error } = event
        const others = this.#present.filter((wait) => !(isAt(wait, callIds) && wait.sinceMs === sinceMs))
        const began = { callIds, model, sinceMs, untilMs, error: failureName(error), message: error.message }
        return this.#replace(isWaiting ? [...others, began] : others)
      }
      case 'run_end':
        // Of an agent that was ended in its wait, and of those below it.
        return this.#replace(
          this.#present.filter((wait) => !isAt({ callIds: wait.callIds.slice(0, callIds.length) }, callIds)),
        )
      default:
        return false
    }
  }

  #replace(next: readonly WaitingRequest[]): boolean {
    const isAnother = next.length !== this.#present.length || next.some((wait, index) => wait !== this.#present[index])
    if (isAnother) this.#present = next.length === 0 ? none : next
    return isAnother
  }
}

function isAt(wait: Pick<WaitingRequest, 'callIds'>, callIds: readonly string[]): boolean {
  return wait.callIds.length === callIds.length && wait.callIds.every((id, index) => id === callIds[index])
}
