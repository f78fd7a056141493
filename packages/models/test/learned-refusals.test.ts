// Knowledge from rejections only grows, whatever services answer (spec R-RESP-12b).
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { learnFromRefusal, initialKnowledge, mergeKnowledge } from '../src/openai/service-knowledge.ts'
import type { ServiceKnowledge } from '../src/openai/service-knowledge.ts'
import { reasoningEfforts } from '../src/responses/reasoning-effort.ts'
import { readErrorBody } from '../src/service/error-body.ts'
import type { Refusal } from '../src/service/service-model.ts'

const field = fc.constantFrom(
  'include',
  'include[0]',
  'reasoning',
  'reasoning.summary',
  'reasoning.effort',
  'reasoning_effort',
  'store',
  'max_tokens',
  'max_completion_tokens',
  'max_tool_calls',
  'input[3]',
)
const words = fc.oneof(
  field.map((name) => `Unsupported parameter: '${name}' is not supported with this model.`),
  fc.constantFrom(...reasoningEfforts).map((effort) => `Unsupported value: '${effort}' for reasoning_effort.`),
  fc
    .subarray([...reasoningEfforts])
    .map((efforts) => `Invalid reasoning effort. Supported values are: ${efforts.map((one) => `'${one}'`).join()}.`),
  fc.constantFrom('Encrypted content is not supported with this model.', 'No reasoning summaries for you.'),
  fc.string(),
)
const refusal: fc.Arbitrary<Refusal> = fc
  .record({
    status: fc.constantFrom(400, 422, 404, undefined),
    param: fc.option(field),
    code: fc.constantFrom(null, 'unsupported_value', 'invalid_encrypted_content'),
    message: words,
  })
  .map(({ status, ...error }) => ({ status, body: readErrorBody(JSON.stringify({ error })) }))
const start = fc.record({
  api: fc.constantFrom('responses' as const, 'chat_completions' as const),
  outputLimitField: fc.constantFrom('max_tokens' as const, 'max_completion_tokens' as const),
})

/** The amount of knowledge. It never decreases. */
function sizeOf({ isOutputLimitLearned, refused }: ServiceKnowledge): number {
  const { efforts, ...flags } = refused
  return [isOutputLimitLearned, ...Object.values(flags)].filter(Boolean).length + efforts.size
}

function holds(more: ServiceKnowledge, less: ServiceKnowledge): boolean {
  return sizeOf(mergeKnowledge(more, less)) === sizeOf(more)
}

test('learns from each refusal at most once, and unlearns nothing', () => {
  fc.assert(
    fc.property(start, fc.array(refusal, { maxLength: 12 }), (made, refusals) => {
      let known = initialKnowledge(made)
      for (const each of [...refusals, ...refusals]) {
        for (let times = 0; ; times++) {
          const learned = learnFromRefusal(known, each)
          if (learned === undefined) break
          expect(sizeOf(learned)).toBeGreaterThan(sizeOf(known))
          expect(holds(learned, known)).toBe(true)
          known = learned
          expect(times).toBeLessThan(2)
        }
      }
      expect(sizeOf(known)).toBeLessThanOrEqual(5 + reasoningEfforts.length)
    }),
  )
})

test('combines the knowledge of two requests, whichever comes first', () => {
  fc.assert(
    fc.property(start, fc.array(refusal), fc.array(refusal), (made, some, others) => {
      const after = (refusals: readonly Refusal[]): ServiceKnowledge =>
        refusals.reduce((known, each) => learnFromRefusal(known, each) ?? known, initialKnowledge(made))
      const [one, other] = [after(some), after(others)]
      const both = mergeKnowledge(one, other)
      expect(both).toEqual(mergeKnowledge(other, one))
      expect(holds(both, one) && holds(both, other)).toBe(true)
    }),
  )
})
