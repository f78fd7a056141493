// Tests R-FIG-3a: while agents work, a session shows the spending and the reservations of the whole tree.
import { agentTool } from '../../src/tools/agent-tool.ts'
import { tool } from '../../src/tools/define-tool.ts'
import type { Prices } from '../../src/model/prices.ts'
import { expect, test, vi } from 'vitest'
import { sessionOf } from './support.ts'

/** A dollar for a million tokens. */
const prices: Prices = {
  cost: (_model, { input_tokens: input, output_tokens: output }) => (input + output) / 1e6,
  worstCase: (_model, { inputTokens, outputTokens }) => (inputTokens + outputTokens) / 1e6,
}
const look = tool({ name: 'Look', description: '', readOnly: true, execute: async () => 'seen' })
const helper = agentTool({
  name: 'Help',
  description: '',
  inputSchema: { type: 'object', properties: {} },
  readOnly: true,
  concurrencySafe: true,
  spawn: () => ({ prompt: 'please look' }),
})

test('three agents that have spent $0.0024 are in the figures before any of them ends', async () => {
  const release: (() => void)[] = []
  let allAreHeld = (): void => {}
  const isHeld = new Promise<void>((resolve) => {
    allAreHeld = resolve
  })
  const { session } = sessionOf(
    ({ messages }) => {
      const isAgent = messages[0]?.content === 'please look'
      if (!isAgent && messages.length === 1) {
        const toolCalls = Array.from({ length: 3 }, () => ({ name: 'Help', input: {} }))
        return { toolCalls, usage: { input_tokens: 300, output_tokens: 100 } }
      }
      if (!isAgent) return { text: 'done', usage: { input_tokens: 1, output_tokens: 1 } }
      if (messages.length === 1)
        return { toolCalls: [{ name: 'Look', input: {} }], usage: { input_tokens: 700, output_tokens: 100 } }
      const before = (): Promise<void> =>
        new Promise((resolve) => {
          release.push(resolve)
          if (release.length === 3) allAreHeld()
        })
      return { text: 'found', usage: { input_tokens: 1, output_tokens: 1 }, before }
    },
    { prices, maxBudgetUsd: 5, tools: [look, helper] },
  )
  const ended = new Promise<void>((resolve) => {
    session.listen((event) => event.type === 'run_end' && resolve())
  })
  session.prompt('go')
  await isHeld
  // The last reservation is in an event that is still unread.
  await vi.waitFor(() => expect(session.snapshot.figures.reservedUsd).toBeGreaterThan(0))
  const { figures, nextStop } = session.snapshot
  expect([figures.settledUsd, figures.sessionUsd, figures.settledTokens]).toEqual([0.0028, 0.0028, 2_800])
  expect(figures.leftUsd).toBeCloseTo(5 - figures.settledUsd - figures.reservedUsd, 9)
  expect(nextStop).not.toBeUndefined()
  for (const each of release) each()
  await ended
  expect(session.snapshot.figures).toMatchObject({ settledUsd: 0.002808, reservedUsd: 0, waitingRequests: 0 })
})
