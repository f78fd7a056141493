import type { RunEvent } from '../state/events.ts'
import type { RunStream } from '../api/iterate.ts'

/** A run that any number of clients read: each receives every event from the first on. The run continues when they disconnect. */
export interface SharedRun extends AsyncIterable<RunEvent> {
  /** Aborts the run. */
  abort(): void
  /** Settles once the run has ended and `past` has all of its events. */
  readonly done: Promise<void>
}

/** Options of `shareRun`. */
export interface ShareRunOptions {
  /** Events of earlier turns, for a resumed run: from `recordedEvents`. */
  readonly past?: readonly RunEvent[]
  /**
   * Writes the record of the run to its store: `() => session.log.flush()`. Readers then receive an event only after its
   * record is stored, so no client sees an event that a killed process did not store. The run itself does not wait, and
   * ends by itself when its store fails.
   */
  readonly flush?: () => Promise<void> | void
}

/**
 * Lets several clients read one run, including clients that join late or reconnect. Starts the run and reads it to its
 * end. Deltas of complete replies are dropped: clients that join later receive the whole reply.
 */
export function shareRun(
  run: Pick<RunStream, 'abort'> & AsyncIterable<RunEvent>,
  { past = [], flush }: ShareRunOptions = {},
): SharedRun {
  const log = new EventLog(past)
  return { abort: () => run.abort('user'), done: log.fill(run, flush), [Symbol.asyncIterator]: () => log.read() }
}

interface Node {
  readonly event: RunEvent | undefined
  next: Node | undefined
}

/** A list of events whose readers each have their own position. */
class EventLog {
  /** Before the first event. */
  readonly #first: Node = { event: undefined, next: undefined }
  #last: Node = this.#first
  /** The last node before the reply that is streaming. */
  #beforeReply: Node = this.#first
  #isOver = false
  #error: { readonly thrown: unknown } | undefined
  #wake: (() => void) | undefined
  #more: Promise<void> = this.#nextWake()

  constructor(past: readonly RunEvent[]) {
    for (const event of past) this.#put(event)
  }

  async fill(run: AsyncIterable<RunEvent>, flush: ShareRunOptions['flush']): Promise<void> {
    try {
      for await (const event of run) {
        if (flush !== undefined && isCounted(event)) await flushQuietly(flush)
        this.#put(event)
        this.#notify()
      }
    } catch (thrown) {
      this.#error = { thrown }
    }
    this.#isOver = true
    this.#notify()
  }

  read(): AsyncIterator<RunEvent, undefined, undefined> {
    let at: Node | undefined = this.#first
    const next = async (): Promise<IteratorResult<RunEvent, undefined>> => {
      while (at !== undefined) {
        // Read before checking for more events, so that an event that arrives meanwhile wakes the reader.
        const more = this.#more
        if (at.next !== undefined) {
          at = at.next
          if (at.event !== undefined) return { done: false, value: at.event }
        } else if (this.#isOver) {
          at = undefined
          if (this.#error !== undefined) throw this.#error.thrown
        } else await more
      }
      return { done: true, value: undefined }
    }
    return {
      next,
      async return() {
        at = undefined
        return { done: true, value: undefined }
      },
    }
  }

  #put(event: RunEvent): void {
    const { agent, event: reported } = reporterOf(event)
    const endsUpdates = reported.type === 'message' || reported.type === 'model_start'
    if (endsUpdates) this.#dropUpdates(agent)
    const node = { event, next: undefined }
    this.#last.next = node
    this.#last = node
    if (endsUpdates && agent === '') this.#beforeReply = node
  }

  /** Drops updates for future readers; current readers still reference the dropped nodes. An agent drops its own updates, the run those of all agents. */
  #dropUpdates(droppedAgent: string): void {
    let before = this.#beforeReply
    for (let node = before.next; node !== undefined; node = node.next) {
      if (node.event !== undefined) {
        const { agent, event } = reporterOf(node.event)
        if (isTransient(event) && (droppedAgent === '' || agent === droppedAgent)) continue
      }
      if (before.next !== node) before.next = node
      before = node
    }
    before.next = undefined
    // A reader at a dropped node continues from there: the node leads to the next event.
    if (this.#last !== before) {
      const end: Node = { event: undefined, next: undefined }
      this.#last.next = end
      before.next = end
      this.#last = end
    }
  }

  #notify(): void {
    const wake = this.#wake
    this.#more = this.#nextWake()
    wake?.()
  }

  #nextWake(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve
    })
  }
}

/** A run whose store fails ends for that reason, which its last event reports. */
async function flushQuietly(flush: () => Promise<void> | void): Promise<void> {
  try {
    await flush()
  } catch {
    // The last event reports the failure.
  }
}

/** Whether the id of an event's chunks is derived from the event, so that a client that has such an id has received a stored event. */
function isCounted({ type }: RunEvent): boolean {
  switch (type) {
    case 'run_start':
    case 'turn_start':
    case 'message':
    case 'tool_start':
    case 'tool_end':
    case 'approval_needed':
    case 'lap':
    case 'run_end':
      return true
    default:
      return false
  }
}

/** Which agent reports an event: '' for the run itself, otherwise the calls that lead to a subagent. */
function reporterOf(event: RunEvent): { readonly agent: string; readonly event: RunEvent } {
  let agent = ''
  let reported = event
  while (reported.type === 'agent') {
    agent += `/${reported.callId}`
    reported = reported.event
  }
  return { agent, event: reported }
}

/** Events that a client that joins later does not need. */
function isTransient(event: RunEvent): boolean {
  return event.type === 'model_update' || event.type === 'figures' || event.type === 'tool_update'
}
