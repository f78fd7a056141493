// Tests R-CTX-10a.
import { expect, test } from 'vitest'
import { plainContext } from '../src/entries/adapters.ts'
import { run } from './support/harness.ts'

test('shows the layers the reported prompt size after a refusal, and not the estimate before it', async () => {
  const seen: number[] = []
  const refusal = { kind: 'prompt_too_long', message: 'too long', status: 413 } as const
  await run([{ error: { ...refusal, contextLimit: { used: 4_000, limit: 3_000 } } }], {
    system: 'x'.repeat(4_000),
    context: {
      ...plainContext,
      autoCompact: true,
      beforeRequest: ({ estimatedTokens }) => void seen.push(estimatedTokens),
      compact: ({ estimatedTokens }) => void seen.push(estimatedTokens),
    },
  })
  expect(seen).toHaveLength(2)
  expect(seen[0]).toBeLessThan(1_100)
  expect(seen[1]).toBe(4_000)
})
