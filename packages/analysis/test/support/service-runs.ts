import {
  agentTool,
  createMemorySteps,
  resume,
  startRun,
  streamRun,
  tool,
  type RunOptions,
  type StepRecord,
} from '@halting/core'
import { createFakeClock, scriptedModel, type FakeClock, type ScriptedReply } from '@halting/core/testing'

export const hour = 3_600_000
const usage = { input_tokens: 1_000, output_tokens: 100 }

/** The start time of scripted runs. */
export const begunAt: number = Date.UTC(2026, 10, 28, 12)

/** The service says when it accepts requests again. */
export const limited = (retryAfterMs: number = hour): ScriptedReply => ({
  error: { kind: 'rate_limit', message: 'too many requests.', status: 429, retryAfterMs },
})
export const outage: ScriptedReply = { error: { kind: 'server_error', message: 'down', status: 503 } }
export const says = (text: string): ScriptedReply => ({ text, usage })
export const calls = (...names: readonly string[]): ScriptedReply => ({
  toolCalls: names.map((name) => ({ name, input: { path: name } })),
  usage,
})

/** `Look` reads, and `Agent` starts a subagent; several run in parallel. */
export const tools: NonNullable<RunOptions['tools']> = [
  tool({ name: 'Look', description: '', readOnly: true, execute: () => 'seen' }),
  agentTool({
    name: 'Agent',
    description: '',
    concurrencySafe: true,
    spawn: () => ({ prompt: 'sub', agentType: 'scout' }),
  }),
]

/** Whether a record is the intent of a wait for a service. */
export const isWaitBegun = ({ type, ...record }: StepRecord): boolean =>
  type === 'intent' && 'key' in record && record.key.endsWith('.service')

interface ServiceRunOptions extends Partial<RunOptions> {
  readonly clock?: FakeClock
  /** The process dies after the first record of this kind. */
  readonly killedBehind?: (record: StepRecord) => boolean
}

/** The records as a session file returns them. */
const asJson = (records: readonly StepRecord[]): readonly StepRecord[] =>
  // Drivers store JSON.
  JSON.parse(JSON.stringify(records)) as readonly StepRecord[]

export const newClock = (start: number = begunAt): FakeClock => createFakeClock({ start, autoAdvance: true })

/** A run that the loop itself recorded, with its records as a session file returns them. */
export async function serviceRun(
  script: readonly ScriptedReply[],
  { clock = newClock(), killedBehind, ...options }: ServiceRunOptions = {},
): Promise<readonly StepRecord[]> {
  const records: StepRecord[] = []
  let isDead = false
  const model = scriptedModel(script, { id: 'claude-x', maxOutputTokens: 1_000 })
  await new Promise<void>((resolve) => {
    const steps = createMemorySteps({
      clock,
      onRecord(record) {
        if (isDead) throw new Error('The process died.')
        records.push(record)
        isDead = killedBehind?.(record) ?? false
        if (isDead) resolve()
      },
    })
    const start = startRun({ prompt: 'Do it', sessionId: 'session-1', runId: 'run1' })
    const running = streamRun(start, { model, tools, waitForLimitsMs: 8 * hour, ...options, clock, steps })
    void running.result.then(() => resolve())
  })
  return asJson(records)
}

/** The same run in a later process, up to its end. */
export async function resumedRun(
  records: readonly StepRecord[],
  script: readonly ScriptedReply[],
  { clock = newClock(), ...options }: ServiceRunOptions = {},
): Promise<readonly StepRecord[]> {
  const model = scriptedModel(script, { id: 'claude-x', maxOutputTokens: 1_000 })
  const { loop, steps } = resume(records, { model, tools, waitForLimitsMs: 8 * hour, ...options, clock })
  await loop.result
  return asJson(steps.records)
}
