import type { RunOptions, ModelRequest } from '@halting/core'
import type { StepRecord } from '@halting/core/steps'
import { createFakeClock, scriptedModel, type ScriptedReply } from '@halting/core/testing'
import { calls, dollarATokenPrices, json, reader, run, tool } from '../../../core/test/support/harness.ts'

/** A reproducible random number generator. */
export function randomOf(seed: number): (below: number) => number {
  let state = seed * 2_654_435_761 + 1
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

/** Options for a run that is the same under any limits: replies by number, and tools that take time. */
export function worldOf(seed: number): () => RunOptions {
  const draw = randomOf(seed)
  const repeats = draw(3) === 0
  // Repetition that waits may continue for longer.
  const waits = repeats && draw(2) === 0
  const length = 3 + draw(waits ? 80 : 25)
  // Models that take time, fail, and are cut off at their cap.
  const takesMs = draw(2) === 0 ? 1 : 30
  const fails = draw(2) === 0
  // Where a useful reply is shorter than the cap, a budget lowers the cap before it refuses the request.
  const minUsefulTokens = draw(2) === 0 ? 5 : 1_000
  // A conversation that only grows has a higher token count each time.
  let counted = 10
  const replies = Array.from({ length }, (_, index): ScriptedReply => {
    counted += draw(60)
    const luck = fails ? draw(12) : 12
    if (luck === 0) return { error: { kind: 'overloaded', message: 'busy', retryAfterMs: 10 * draw(8) } }
    if (luck === 1)
      return { text: 'half', stopReason: 'max_tokens', usage: { input_tokens: counted, output_tokens: 50 } }
    const names = Array.from({ length: 1 + draw(2) }, () => (repeats || draw(3) > 0 ? 'Look' : 'Write'))
    const input = repeats && index > 4 ? { n: 0 } : { n: draw(4) }
    return {
      ...(repeats && index > 4 ? calls({ name: 'Look', input }) : calls(...names.map((name) => ({ name, input })))),
      usage: { input_tokens: counted, output_tokens: draw(50) },
    }
  })
  const script: readonly ScriptedReply[] = [
    ...replies,
    { text: 'done', usage: { input_tokens: counted + 100, output_tokens: 10 } },
  ]
  return () => {
    const clock = createFakeClock({ autoAdvance: true })
    const wait = (ms: number) => new Promise<void>((resolve) => void clock.after(ms, resolve))
    const taking = (ms: number) => async () => {
      await wait(ms)
      return 'seen'
    }
    // As services do: a reply is cut off at the cap of its request.
    const timed = ({ maxOutputTokens }: ModelRequest, index: number): ScriptedReply => {
      const reply = script[index] ?? 'done'
      if (typeof reply === 'string' || !('usage' in reply)) return reply
      const { input_tokens: inputTokens = 0, output_tokens: outputTokens = 0 } = reply.usage ?? {}
      const before = (): Promise<void> => wait(takesMs)
      if (outputTokens <= maxOutputTokens) return { ...reply, before }
      const usage = { input_tokens: inputTokens, output_tokens: maxOutputTokens }
      return { text: 'half', stopReason: 'max_tokens', usage, before }
    }
    const tools = [reader('Look', taking(waits ? 5_000 : 20)), tool('Write', taking(50))]
    const model = scriptedModel(timed, { maxOutputTokens: 50 })
    return { clock, tools, prices: dollarATokenPrices, model, graceMs: 0, minUsefulTokens }
  }
}

/** A live run, with its records as a session file stores them. */
export async function liveRun(options: RunOptions) {
  const { terminal, steps } = await run([], options as never)
  return { terminal, records: json(steps.records) as never as readonly StepRecord[] }
}
