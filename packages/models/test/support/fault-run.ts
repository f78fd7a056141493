import { streamRun, startRun } from '@halting/core'
import type { Clock } from '@halting/core/steps'
import type { RunEvent, RunOptions, MessageContent, Model, ModelMessage, RunResult } from '@halting/core'
import { createFakeClock } from '@halting/core/testing'
import { anthropic, openaiCompatible, openaiResponses } from '../../src/index.ts'
import type { ServiceOptions } from '../../src/service/endpoint.ts'
import { createEar } from './fault-ear.ts'
import type { FaultProtocol } from './fault-reply.ts'
import { startFaultServer } from './fault-server.ts'
import type { FaultServer, PlannedExchange } from './fault-server.ts'

/** A fault server, and a real adapter for it. */
export interface FaultyService {
  readonly server: FaultServer
  readonly model: Model
}

export async function faultyService(
  protocol: FaultProtocol,
  id: string,
  plan: readonly PlannedExchange[],
  options: ServiceOptions = {},
): Promise<FaultyService> {
  const ear = createEar()
  const server = await startFaultServer({ protocol, plan, taken: ear.taken })
  const named = { model: id, apiKey: 'key', baseUrl: server.url, fetch: ear.fetch, ...options }
  if (protocol === 'responses') return { server, model: openaiResponses(named) }
  return { server, model: protocol === 'messages' ? anthropic(named) : openaiCompatible(named) }
}

export interface FaultyRun {
  readonly terminal: RunResult
  readonly events: readonly RunEvent[]
  /** The messages that a model would get next. */
  readonly messages: readonly ModelMessage[]
  /** The length of each wait of the run, in milliseconds. */
  readonly waits: readonly number[]
}

/**
 * Runs the loop to its end under a fake clock that completes each wait at once.
 * @param beforeWaking Called in the middle of each wait.
 */
export async function runTo(
  prompt: MessageContent,
  options: Omit<RunOptions, 'clock'>,
  beforeWaking: () => Promise<void> = async () => {},
): Promise<FaultyRun> {
  const time = createFakeClock()
  const waits: number[] = []
  const clock: Clock = {
    now: () => time.now(),
    after(ms, callback) {
      const cancel = time.after(ms, callback)
      // The deadline of the run is not a wait. Only waits advance the time.
      if (ms !== options.maxDurationMs) {
        waits.push(ms)
        setImmediate(() => void beforeWaking().then(() => time.advance(ms)))
      }
      return cancel
    },
  }
  const running = streamRun(startRun({ prompt }), { ...options, clock })
  const events: RunEvent[] = []
  for await (const event of running) events.push(event)
  const { terminal, state } = await running.ended
  return { terminal, events, messages: state.transcript.messages(), waits }
}

/** The messages for a person: reasons for waits, and warnings about missing parts. */
export function noticesOf(events: readonly RunEvent[]): readonly string[] {
  return events.flatMap((event) => {
    if (event.type === 'retry') return [event.error.message]
    return event.type === 'notice' ? [event.message] : []
  })
}
