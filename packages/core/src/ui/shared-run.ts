import type { RunEvent } from '../state/events.ts'
import type { RunStream } from '../api/iterate.ts'

/** A run that any number of clients read: each reads every event from the first on. The run goes on when they leave. */
export interface SharedRun extends AsyncIterable<RunEvent> {
  /** Aborts the run. */
  abort(): void
  /** Settles once the run has ended and `past` has all of its events. */
  readonly done: Promise<void>
}

/** Options of `shareRun`. */
export interface ShareRunOptions {
  /** Events of turns before those that the run reports: of a run that was resumed, from `recordedEvents`. */
  readonly past?: readonly RunEvent[]
  /**
   * Writes the record of the run to its store: `() => session.log.flush()`. Readers then receive an event only once the record that it follows from is stored,
   * so no client has seen what a killed process did not store. The run itself does not wait, and ends by itself when its store fails.
   */
  readonly flush?: () => Promise<void> | void
}

/**
 * Lets several clients read one run, also such as come late or again. Starts the run, and reads it to its end. Deltas of replies that are complete are dropped:
 * whoever comes later gets these whole.
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

/** Events in a list whose readers hold their own place in it. */
class EventLog {
  /** Before the first event. */
  readonly #first: Node = { event: undefined, next: undefined }
  #last: Node = this.#first
  /** The last node before the reply that streams. */
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
        if (flush !== undefined && isCounted(event)) await stored(flush)
        this.#put(event)
        this.#tell()
      }
    } catch (thrown) {
      this.#error = { thrown }
    }
    this.#isOver = true
    this.#tell()
  }

  read(): AsyncIterator<RunEvent, undefined, undefined> {
    let at: Node | undefined = this.#first
    const next = async (): Promise<IteratorResult<RunEvent, undefined>> => {
      while (at !== undefined) {
        // Before it is looked whether there is more: what comes in between wakes.
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

  /** For readers that are not there yet: those that read on hold the nodes that are left out. An agent leaves out its own updates, the run those of all. */
  #dropUpdates(droppedAgent: string): void {
    let before = this.#beforeReply
    for (let node = before.next; node !== undefined; node = node.next) {
      if (node.event !== undefined) {
        const { agent, event } = reporterOf(node.event)
        if (isPassing(event) && (droppedAgent === '' || agent === droppedAgent)) continue
      }
      if (before.next !== node) before.next = node
      before = node
    }
    before.next = undefined
    // A reader that stands on a node that was left out goes on from there: it leads to what follows.
    if (this.#last !== before) {
      const end: Node = { event: undefined, next: undefined }
      this.#last.next = end
      before.next = end
      this.#last = end
    }
  }

  #tell(): void {
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

/** A run whose store fails ends for that reason, which its last event says. */
async function stored(flush: () => Promise<void> | void): Promise<void> {
  try {
    await flush()
  } catch {
    // As above.
  }
}

/** Chunks with an id of their own are made of it: a client that has one is believed. */
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

/** Which agent reports what: '' for the run itself, else the calls that lead to a subagent. */
function reporterOf(event: RunEvent): { readonly agent: string; readonly event: RunEvent } {
  let agent = ''
  let reported = event
  while (reported.type === 'agent') {
    agent += `/${reported.callId}`
    reported = reported.event
  }
  return { agent, event: reported }
}

/** What a client that comes later has no use for. */
function isPassing(event: RunEvent): boolean {
  return event.type === 'model_update' || event.type === 'figures' || event.type === 'tool_update'
}
