import type { InboxMessage } from './steps/control.ts'
import type { StopSignal, StopSignalJson } from './stop/signal.ts'

/**
 * What people hand in while a run goes on: messages, and requests to stop at the next checkpoint.
 * Taken from by `Steps.control` only, so that what was taken is on record.
 */
export interface Inbox {
  /** Steering messages; with `all` the follow-ups too. Undefined when there are none. */
  takeMessages(all: boolean): readonly InboxMessage[] | undefined
  takeSignals(): readonly StopSignalJson[] | undefined
}

export interface OpenInbox extends Inbox {
  put(message: InboxMessage): void
  stop(signal: StopSignal): void
  /** Messages that no run has taken. */
  readonly waiting: number
}

export function createInbox(): OpenInbox {
  let messages: InboxMessage[] = []
  let signals: StopSignalJson[] = []
  return {
    get waiting() {
      return messages.length
    },
    put(message) {
      messages.push(message)
    },
    stop(signal) {
      signals.push(signal.toJSON())
    },
    takeMessages(all) {
      if (messages.length === 0) return undefined
      const taken = all ? messages : messages.filter((message) => message.kind === 'steer')
      if (taken.length === 0) return undefined
      messages = all ? [] : messages.filter((message) => message.kind !== 'steer')
      return taken
    },
    takeSignals() {
      if (signals.length === 0) return undefined
      const taken = signals
      signals = []
      return taken
    },
  }
}

/** For subagents: what people hand in goes to the main loop. */
export const closedInbox: Inbox = Object.freeze<Inbox>({ takeMessages: () => undefined, takeSignals: () => undefined })
