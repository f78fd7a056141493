// Tests R-SET-9.
import { expect, test } from 'vitest'
import {
  ConfigurationError,
  type ModelRequest,
  type Permissions,
  type QueryEngine,
  type SdkMessage,
} from '../../src/index.ts'
import { scriptedModel, type ScriptedReply } from '../../src/testing/index.ts'
import { engineOf, resultOf, type EngineOverrides } from '../support/engine.ts'
import { calls, dollarATokenPrices, hook, reader, tool } from '../support/harness.ts'

const tools = [reader('Look')]
const usage = { input_tokens: 1, output_tokens: 1 }

async function messagesOf(engine: QueryEngine): Promise<readonly SdkMessage[]> {
  const messages: SdkMessage[] = []
  for await (const message of engine.submit('go')) messages.push(message)
  return messages
}

const initOf = (messages: readonly SdkMessage[]): unknown => {
  const [init] = messages
  return init?.type === 'system' && init.subtype === 'init' ? [init.model, init.permissionMode] : undefined
}

/** Two turns a run; a setting is changed in the first turn of the first run. */
function engine(during: (engine: QueryEngine) => void, overrides: EngineOverrides = {}) {
  const asked: { readonly model: string; readonly thinking: unknown }[] = []
  let isSet = false
  const script =
    (model: string) =>
    ({ messages, thinking }: ModelRequest): ScriptedReply => {
      asked.push({ model, thinking })
      if (messages.at(-1)?.content !== 'go') return { text: 'done', usage }
      const before = (): void => {
        if (!isSet) during(engineParts.engine)
        isSet = true
      }
      return { ...calls('Look'), usage, before }
    }
  const first = scriptedModel(script('first'), { id: 'first', maxOutputTokens: 10 })
  const second = scriptedModel(script('second'), { id: 'second', maxOutputTokens: 10, contextWindow: 77_000 })
  const engineParts = engineOf([], { tools, model: first, models: [second], minUsefulTokens: 1, ...overrides })
  return { ...engineParts, asked }
}

test('asks a model that is set from the next request on, also in later runs, until it is reset', async () => {
  const { engine: session, asked } = engine((each) => each.setModel('second'))
  const [one, two] = [await messagesOf(session), await messagesOf(session)]
  session.setModel()
  const three = await messagesOf(session)
  expect(asked.map(({ model }) => model)).toEqual(['first', 'second', 'second', 'second', 'first', 'first'])
  expect([initOf(one), initOf(two), initOf(three)]).toEqual([
    ['first', 'default'],
    ['second', 'default'],
    ['first', 'default'],
  ])
  expect(resultOf(one).modelUsage['second']?.contextWindow).toBe(77_000)
})

test('sets thinking by a number of tokens: disabled at 0, the default of the model at null', async () => {
  const { engine: session, asked } = engine((each) => each.setMaxThinkingTokens(3_000))
  await messagesOf(session)
  session.setMaxThinkingTokens(0)
  await messagesOf(session)
  session.setMaxThinkingTokens(null)
  await messagesOf(session)
  const enabled = { type: 'enabled', budgetTokens: 3_000 }
  expect(asked.map(({ thinking }) => thinking)).toEqual([
    undefined,
    enabled,
    { type: 'disabled' },
    { type: 'disabled' },
    undefined,
    undefined,
  ])
})

test('applies a permission mode to the calls that follow, in this run and in later ones', async () => {
  const modes: (string | undefined)[] = []
  const permissions: Permissions = {
    modes: ['plan'],
    denies: () => undefined,
    decide: ({ mode }) => (modes.push(mode), { behavior: 'allow' }),
  }
  const { engine: session } = engine((each) => each.setPermissionMode('plan'), {
    permissions,
    tools: [tool('Look')],
  })
  await messagesOf(session)
  expect(initOf(await messagesOf(session))).toEqual(['first', 'plan'])
  expect(modes).toEqual(['plan', 'plan'])
})

test('applies the budget to the session, raised or lowered during a run or between two', async () => {
  // 1 + 1 dollars a request, two requests a run. Reservations are bounded by bytes, so the prices define the worst case themselves.
  const prices = { ...dollarATokenPrices, worstCase: () => 2 }
  const { engine: session } = engine((each) => each.setLimits({ maxBudgetUsd: 6 }), { prices, maxBudgetUsd: 4 })
  const reasons: unknown[] = []
  const ask = async (): Promise<void> => {
    await messagesOf(session)
    const { reason, signal } = session.lastTerminal!
    reasons.push([reason, signal.context['limit'] ?? null, session.totalCostUsd])
  }
  await ask()
  await ask()
  session.setLimits({ maxBudgetUsd: 11 })
  await ask()
  session.setLimits({ maxBudgetUsd: 3 })
  await ask()
  expect(reasons).toEqual([
    ['completed', null, 4],
    ['max_budget_usd', 6, 6],
    ['completed', null, 10],
    ['max_budget_usd', 3, 10],
  ])
})

test('applies limits of a run to every run after it', async () => {
  const { engine: session } = engine((each) => each.setLimits({ maxTurns: 1 }))
  const reasons: unknown[] = []
  for (let runs = 0; runs < 2; runs++) reasons.push(resultOf(await messagesOf(session)).terminal_reason)
  expect(reasons).toEqual(['max_turns', 'max_turns'])
})

test('does not pass a setting that was too late for one run to the next, which begins with the current settings', async () => {
  const late = hook('onStop', () => session.setModel('second'))
  const { engine: session, asked } = engine(() => {}, { hooks: [late] })
  await messagesOf(session)
  session.setModel()
  await messagesOf(session)
  expect(asked.map(({ model }) => model)).toEqual(['first', 'first', 'first', 'first'])
})

test('rejects an invalid setting at once, and changes neither this run nor a later one', async () => {
  const { engine: session, asked } = engine((each) => {
    expect(() => each.set({ model: 'nobody', thinking: { type: 'adaptive' } })).toThrow(ConfigurationError)
    expect(() => each.setMaxThinkingTokens(-1)).toThrow('thinking.budgetTokens must be a whole number above 0')
    expect(() => each.setPermissionMode('plan')).toThrow('Unknown permission mode plan')
    expect(() => each.setLimits({ maxTurns: 0.5 })).toThrow('maxTurns must be a whole number')
  })
  await messagesOf(session)
  await messagesOf(session)
  expect(asked).toEqual(Array.from({ length: 4 }, () => ({ model: 'first', thinking: undefined })))
})
