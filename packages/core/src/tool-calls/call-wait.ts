import type { Deadline } from '../values/deadline.ts'
import { fieldsOf } from '../values/given.ts'
import type { Json } from '../values/json.ts'
import { wallTimeOf } from '../values/clock.ts'
import { WallWait } from '../steps/wall-wait.ts'
import type { CallWait } from '../tools/tool.ts'
import { shareForWaiting } from '../run/tasks.ts'
import type { Run, RunStepOptions } from '../run/run.ts'

// Spec R-WAIT-1.
/** The moment at which a call that waits begins is the intent of its step, and on disk: a resume waits until the same moment. */
export function stepOfWait({ context }: Run): Pick<RunStepOptions<unknown>, 'intent' | 'sync'> {
  return { intent: () => ({ since: wallTimeOf(context.timers) }), sync: 'intent' }
}

/** The wait of a call. Without the intent of its step, as under a driver that hands it to nobody, it begins now. */
export function waitOfCall(run: Run, intent: Json | undefined): CallWait {
  const { since } = fieldsOf(intent) ?? {}
  return new WaitOfCall(run, typeof since === 'number' ? since : wallTimeOf(run.context.timers))
}

class WaitOfCall implements CallWait {
  readonly sinceMs: number
  readonly #run: Run
  readonly #began: WallWait

  constructor(run: Run, sinceMs: number) {
    this.#run = run
    this.sinceMs = sinceMs
    this.#began = this.#waitUntil(Infinity)
  }

  #waitUntil(longestMs: number): WallWait {
    return new WallWait(this.#run.context.timers, { since: this.sinceMs, until: this.sinceMs + longestMs })
  }

  get waitedMs(): number {
    return this.#began.waitedMs
  }

  get leftMs(): number {
    const { deadline, wholeDeadline } = this.#run.ports
    return Math.min(leftOf(deadline), leftOf(wholeDeadline)) * shareForWaiting
  }

  onEnd(longestMs: number, listener: (why: 'over' | 'limit' | 'arrived') => void): () => void {
    const { inbox } = this.#run.ports
    const mostMs = this.waitedMs + this.leftMs
    const isLimited = mostMs < longestMs
    const time = this.#waitUntil(Math.max(0, isLimited ? mostMs : longestMs))
    let stop = (): void => {}
    const end = (why: 'over' | 'limit' | 'arrived'): void => {
      stop()
      listener(why)
    }
    if (inbox.hasAny) {
      listener('arrived')
      return stop
    }
    const unlisten = inbox.onArrival(() => end('arrived'))
    stop = () => {
      time.cancel()
      unlisten()
    }
    time.start(() => end(isLimited ? 'limit' : 'over'))
    return stop
  }
}

function leftOf({ limitMs, usedMs }: Deadline): number {
  return limitMs === Infinity ? Infinity : Math.max(0, limitMs - usedMs)
}
