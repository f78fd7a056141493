// Holds a rule of docs/spec: R-FOR-10: limits see the same in a run of another program with and without its records.
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Prices } from '@halting/core'
import { recordsOfForeign, type ForeignRun, type ForeignTurn } from '../../src/foreign/foreign-run.ts'
import { trajectoryOf } from '../../src/what-if/trajectory.ts'
import { trajectoryOfForeign } from '../../src/what-if/foreign-trajectory.ts'

const prices: Prices = {
  cost: (model) => (model === 'known' ? 0.01 : undefined),
  worstCase: () => undefined,
}

const usage = fc.record({
  input_tokens: fc.nat(9),
  output_tokens: fc.nat(9),
  cache_creation_input_tokens: fc.constant(0),
  cache_read_input_tokens: fc.nat(9),
})
const model = fc.constantFrom('known', 'unknown')
const moment = fc.oneof(fc.nat(50), fc.nat(20_000))
const callId = fc.constantFrom('a', 'b', 'c')
const call = fc.record({
  type: fc.constant('tool_use' as const),
  id: callId,
  name: fc.constantFrom('Bash', 'Read'),
  input: fc.record({ at: fc.nat(2) }),
})
const payment = fc.record(
  { model, usage, endedMs: moment, askedModel: model },
  { requiredKeys: ['model', 'usage', 'endedMs'] },
)
const said = fc.record({
  origin: fc.constantFrom('steer' as const, 'follow_up' as const, 'loop' as const),
  content: fc.constant('And this.'),
})
const turn: fc.Arbitrary<ForeignTurn> = fc.record(
  {
    message: fc
      .record({ id: fc.constant('m'), model, usage, calls: fc.uniqueArray(call, { selector: ({ id }) => id }) })
      .map(({ calls, ...message }) => ({
        ...message,
        role: 'assistant' as const,
        stop_reason: null,
        content: [{ type: 'text', text: 'So.' }, ...calls],
      })),
    askedModel: model,
    beganMs: moment,
    endedMs: moment,
    results: fc.array(
      fc.record({ callId, content: fc.constantFrom('1', '2'), isError: fc.boolean(), endedMs: moment }),
      {
        maxLength: 4,
      },
    ),
    agentRequests: fc.array(payment, { maxLength: 2 }),
    laterMessages: fc.array(said, { maxLength: 2 }),
  },
  { requiredKeys: ['message', 'beganMs', 'endedMs', 'results', 'agentRequests', 'laterMessages'] },
)
const ending = fc.record(
  {
    reason: fc.constantFrom('completed' as const, 'max_turns' as const),
    message: fc.constant('It says so.'),
    limit: fc.nat(9),
  },
  { requiredKeys: ['reason', 'message'] },
)
const foreignRun: fc.Arbitrary<ForeignRun> = fc.record({
  run: fc.constant({ runId: 'session.1', sessionId: 'session', agentPath: '', depth: 0 }),
  prompts: fc.array(said, { maxLength: 1 }),
  turns: fc.array(turn, { maxLength: 4 }),
  ending: fc.option(ending),
})

test('limits see the same in a run of another program with and without its records', () => {
  fc.assert(
    fc.property(foreignRun, (run) => {
      const { records, unpriced } = recordsOfForeign(run, prices)
      expect(trajectoryOfForeign(run, prices)).toEqual({ trajectory: trajectoryOf(records), unpriced })
    }),
    { numRuns: 300 },
  )
})
