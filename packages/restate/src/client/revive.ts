import type { SessionEvent, SessionSnapshot } from '@halting/core/session'
import { HaltingError, StopSignal, StopSignals, type RunEvent, type RunResult } from '@halting/core'

/** Restores the classes of a result that was sent as JSON. */
export function reviveResult(terminal: RunResult): RunResult {
  const { error } = terminal
  return {
    ...terminal,
    signal: StopSignal.fromJSON(terminal.signal),
    signals: StopSignals.fromJSON(terminal.signals),
    ...(error !== undefined && { error: HaltingError.fromJSON(error) }),
  }
}

export function reviveSnapshot(snapshot: SessionSnapshot): SessionSnapshot {
  // JSON has no undefined.
  const { last, file } = snapshot
  // Workers of earlier versions send no goals.
  const goal: SessionSnapshot['goal'] | undefined = snapshot.goal
  // Workers of earlier versions do not send a question at a limit.
  const limitQuestion: SessionSnapshot['limitQuestion'] | undefined = snapshot.limitQuestion
  // Workers of earlier versions do not send waits for services.
  const serviceWaits: SessionSnapshot['serviceWaits'] | undefined = snapshot.serviceWaits
  return {
    ...snapshot,
    file,
    serviceWaits: serviceWaits ?? [],
    goal: goal ?? null,
    limitQuestion: limitQuestion ?? null,
    last: last === undefined ? undefined : reviveResult(last),
  }
}

export function reviveEvent(event: SessionEvent): SessionEvent {
  switch (event.type) {
    case 'loop':
      return { ...event, event: reviveRunEvent(event.event) }
    case 'run_end':
      return { ...event, terminal: reviveResult(event.terminal) }
    case 'failed':
      return { ...event, error: reviveError(event.error) }
    default:
      return event
  }
}

function reviveRunEvent(event: RunEvent): RunEvent {
  switch (event.type) {
    case 'run_end':
      return { ...event, terminal: reviveResult(event.terminal) }
    case 'signal':
      return { ...event, signal: StopSignal.fromJSON(event.signal) }
    case 'signals_overridden':
      return { ...event, signals: event.signals.map((signal) => StopSignal.fromJSON(signal)) }
    case 'agent':
      return { ...event, event: reviveRunEvent(event.event) }
    default:
      return event
  }
}

function reviveError(error: unknown): HaltingError {
  const { code, message } = (error ?? {}) as Partial<HaltingError>
  return HaltingError.fromJSON({ code: code ?? 'driver', message: message ?? 'The run failed in the worker.' })
}
