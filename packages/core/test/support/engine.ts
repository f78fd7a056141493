import { expect } from 'vitest'
import {
  QueryEngine,
  type RunEvent,
  type QueryOptions,
  type RunState,
  type SdkMessage,
  type SdkResult,
  type RunResult,
  type IterationReason,
} from '../../src/index.ts'
import {
  createFakeClock,
  scriptedModel,
  transcriptProblems,
  type FakeClock,
  type ScriptedModel,
} from '../../src/testing/index.ts'
import type { Script } from './harness.ts'
import { Transcript } from '../../src/index.ts'

export interface AskOutcome {
  readonly engine: QueryEngine
  readonly messages: readonly SdkMessage[]
  readonly result: SdkResult
  readonly terminal: RunResult
  readonly events: readonly RunEvent[]
  readonly model: ScriptedModel
  readonly state: Pick<RunState, 'transcript' | 'startLength'>
  readonly transitions: readonly IterationReason[]
}

export type EngineOverrides = Partial<QueryOptions>

/** An engine over a scripted model and a clock that advances by itself. */
export interface EngineParts {
  readonly engine: QueryEngine
  readonly model: ScriptedModel
  readonly events: RunEvent[]
  readonly clock: FakeClock
}

export function engineOf(script: Script, overrides: EngineOverrides = {}): EngineParts {
  const model = overrides.model === undefined ? scriptedModel(script) : (overrides.model as ScriptedModel)
  const clock = createFakeClock({ autoAdvance: true })
  const events: RunEvent[] = []
  const engine = new QueryEngine({
    clock,
    sessionId: 'session',
    ...overrides,
    model,
    onEvent: (event) => events.push(event),
  })
  return { engine, model, events, clock }
}

/** Submits one prompt and returns its one result, which is the last message. */
export async function ask(
  script: Script,
  overrides: EngineOverrides = {},
  during?: (engine: QueryEngine, message: SdkMessage) => void,
): Promise<AskOutcome> {
  const { engine, model, events } = engineOf(script, overrides)
  const before = overrides.transcript ?? Transcript.empty()
  const messages: SdkMessage[] = []
  for await (const message of engine.submit('go')) {
    messages.push(message)
    during?.(engine, message)
  }
  const result = resultOf(messages)
  const terminal = engine.lastTerminal!
  const transitions = events.flatMap((event) => (event.type === 'lap' ? [event.transition] : []))
  if (terminal.reason !== 'needs_approval') expect(transcriptProblems(engine.transcript.messages())).toEqual([])
  return {
    engine,
    messages,
    result,
    terminal,
    events,
    model,
    state: { transcript: engine.transcript, startLength: before.length },
    transitions,
  }
}

/** The result: exactly one, and the last message. */
export function resultOf(messages: readonly SdkMessage[]): SdkResult {
  const results = messages.filter((message): message is SdkResult => message.type === 'result')
  expect(results).toHaveLength(1)
  expect(messages.at(-1)).toBe(results[0])
  return results[0]!
}
