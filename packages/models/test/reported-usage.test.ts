// Tests R-BUD-11, R-BUD-14 and R-BUD-16 of docs/spec for the reports of the Messages API and of the AI SDK.
import type { Json, JsonObject, Usage } from '@halting/core'
import { noUsage } from '@halting/core/adapters'
import { describe, expect, test } from 'vitest'
import { reportedUsage } from '../src/ai-sdk/finish-part.ts'
import { anthropic } from '../src/index.ts'
import { mergeUsage, readUsage } from '../src/anthropic/usage.ts'

const merged = (...reports: readonly Json[]): Usage => {
  const [first, ...later] = reports
  return later.reduce<Usage>((before, report) => mergeUsage(before, report), readUsage(first))
}

describe('applies the highest of repeated counts', () => {
  test.each<[string, readonly JsonObject[], Partial<Usage>]>([
    [
      'the prompt at the start',
      [
        { input_tokens: 100_000, output_tokens: 1 },
        { input_tokens: 1, output_tokens: 20 },
      ],
      { input_tokens: 100_000, output_tokens: 20 },
    ],
    [
      'the reply at the start',
      [{ input_tokens: 10, output_tokens: 500 }, { output_tokens: 20 }],
      { input_tokens: 10, output_tokens: 500 },
    ],
    [
      'caches',
      [
        { input_tokens: 1, cache_read_input_tokens: 70, cache_creation_input_tokens: 80 },
        { output_tokens: 2, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 },
      ],
      { input_tokens: 1, output_tokens: 2, cache_read_input_tokens: 70, cache_creation_input_tokens: 80 },
    ],
    [
      'cache writes for an hour',
      [
        { input_tokens: 1, cache_creation_input_tokens: 80, cache_creation: { ephemeral_1h_input_tokens: 80 } },
        { output_tokens: 2, cache_creation_input_tokens: 80, cache_creation: { ephemeral_1h_input_tokens: 0 } },
      ],
      {
        input_tokens: 1,
        output_tokens: 2,
        cache_creation_input_tokens: 80,
        cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 80 },
      },
    ],
    [
      'searches',
      [
        { input_tokens: 1, server_tool_use: { web_search_requests: 3 } },
        { output_tokens: 2, server_tool_use: { web_search_requests: 1 } },
      ],
      { input_tokens: 1, output_tokens: 2, server_tool_use: { web_search_requests: 3 } },
    ],
  ])('%s', (_what, reports, expected) => {
    expect(merged(...reports)).toEqual({ ...noUsage, ...expected })
    expect(merged(...reports.toReversed())).toEqual({ ...noUsage, ...expected })
  })
})

describe('a list of passes explains the sum', () => {
  const compaction = { type: 'compaction', input_tokens: 60_385, output_tokens: 522 }
  const message = { type: 'message', input_tokens: 612, output_tokens: 2_819 }
  const advice = { type: 'advisor_message', model: 'claude-opus-4-7', input_tokens: 2_728, output_tokens: 3_880 }
  const began = { input_tokens: 60_385, output_tokens: 1 }

  test('so that a compaction reported at the start is not counted twice', () => {
    const iterations = [compaction, message]
    const expected = { ...noUsage, input_tokens: 612, output_tokens: 2_819, iterations }
    expect(merged(began, { input_tokens: 612, output_tokens: 2_819, iterations })).toEqual(expected)
    expect(merged(began, { output_tokens: 2_819, iterations })).toEqual(expected)
  })

  test('but reverts nothing if it omits a count', () => {
    const short = [{ ...message, input_tokens: 1 }]
    expect(merged(began, { input_tokens: 1, output_tokens: 2_819, iterations: short })).toEqual({
      ...noUsage,
      input_tokens: 60_385,
      output_tokens: 2_819,
      iterations: short,
    })
    expect(merged(began, { output_tokens: 9, iterations: [advice] })).toMatchObject({ input_tokens: 60_385 })
  })

  test('and reverts nothing if it is shorter than an earlier one', () => {
    const iterations = [compaction, message]
    const whole = { input_tokens: 612, output_tokens: 2_819, iterations }
    const later: readonly Json[] = [[message], [], null]
    for (const shorter of later) expect(merged(whole, { output_tokens: 1, iterations: shorter })).toMatchObject(whole)
  })

  test('also through the AI SDK', () => {
    const raw = { input_tokens: 612, output_tokens: 2_819, iterations: [compaction, message, advice] }
    const usage = { inputTokens: { total: 60_997, noCache: 60_997 }, outputTokens: { total: 3_341 }, raw }
    expect(readUsage(reportedUsage(usage))).toEqual({ ...noUsage, ...raw })
  })
})

describe('passes invalid counts on to core', () => {
  test.each<[string, readonly Json[], JsonObject]>([
    ['below zero', [{ input_tokens: 10 }, { output_tokens: -5 }], { input_tokens: 10, output_tokens: -5 }],
    ['below zero, and a count after it', [{ input_tokens: -10 }, { input_tokens: 5 }], { input_tokens: -10 }],
    ['a text', [{ input_tokens: '10' }, { output_tokens: 5 }], { input_tokens: '10', output_tokens: 5 }],
    ['a fraction', [{ input_tokens: 10.5 }], { input_tokens: 10.5 }],
    [
      'for an hour, below zero',
      [{ cache_creation_input_tokens: 5, cache_creation: { ephemeral_1h_input_tokens: -4 } }],
      { cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: -4 } },
    ],
    [
      'searches',
      [{ server_tool_use: { web_search_requests: 'two' } }],
      { server_tool_use: { web_search_requests: 'two' } },
    ],
    ['an invalid part', [{ server_tool_use: 7.5 }], { server_tool_use: { web_search_requests: 7.5 } }],
    ['passes that are not a list', [{ iterations: 'two' }], { iterations: 'two' }],
    ['invalid passes', [{ iterations: [7] }], { iterations: [7] }],
    ['an invalid usage', [{ input_tokens: 10 }, 'cheap'], { input_tokens: 10, output_tokens: '"cheap"' }],
  ])('%s', (_what, reports, expected) => {
    expect(merged(...reports)).toMatchObject(expected)
  })

  test.each<[string, JsonObject, JsonObject]>([
    ['a prompt below zero', { inputTokens: { total: -9 }, outputTokens: { total: 5 } }, { input_tokens: -9 }],
    [
      'a cache below zero',
      { inputTokens: { total: 9, cacheRead: -4 }, outputTokens: { total: 5 } },
      { input_tokens: -4 },
    ],
    [
      'more cached than there was',
      { inputTokens: { total: 9, noCache: -90, cacheRead: 99 }, outputTokens: { total: 5 } },
      { input_tokens: -90 },
    ],
    ['a text as reply', { inputTokens: { total: 9 }, outputTokens: { total: 'five' } }, { input_tokens: 'five' }],
    ['a fraction', { inputTokens: { total: 9.5 }, outputTokens: { total: 5 } }, { input_tokens: 9.5 }],
  ])('%s, through the AI SDK', (_what, usage, expected) => {
    expect(reportedUsage(usage)).toMatchObject(expected)
  })
})

describe('declares what options allow the service to do', () => {
  const model = (options: object): JsonObject => {
    const { maxServerToolUses, extraPasses } = anthropic({ model: 'claude-haiku-4-5', apiKey: 'key', ...options })
    return { maxServerToolUses: maxServerToolUses ?? null, extraPasses: (extraPasses ?? null) as Json }
  }
  const advisor = {
    type: 'advisor_20260301',
    name: 'advisor',
    model: 'claude-opus-5-5',
    max_uses: 2,
    max_tokens: 2_048,
  }
  const search = { type: 'web_search_20250305', name: 'web_search', max_uses: 3 }
  const compact = { edits: [{ type: 'compact_20260112', trigger: { type: 'input_tokens', value: 60_000 } }] }

  test('as nothing by default', () => {
    expect(model({})).toEqual({ maxServerToolUses: null, extraPasses: null })
    expect(model({ serverTools: [search] })).toEqual({ maxServerToolUses: 3, extraPasses: null })
    expect(model({ contextManagement: { edits: [{ type: 'clear_tool_uses_20250919' }] } }).extraPasses).toBeNull()
  })

  test('as an advisor, with its model, its uses and its own cap', () => {
    expect(model({ serverTools: [advisor, search] })).toMatchObject({
      maxServerToolUses: 3,
      extraPasses: [{ model: 'claude-opus-5-5', uses: 2, outputTokens: 2_048 }],
    })
    const { max_uses: _, max_tokens: __, ...endless } = advisor
    const [pass] = anthropic({ model: 'm', apiKey: 'key', serverTools: [endless] }).extraPasses ?? []
    expect(pass?.uses).toBe(Infinity)
    expect(pass?.outputTokens).toBeGreaterThanOrEqual(32_000)
  })

  test('as a compaction, with its threshold', () => {
    const [pass] = anthropic({ model: 'm', apiKey: 'key', contextManagement: compact }).extraPasses ?? []
    expect(pass).toEqual({ model: 'm', uses: 1, inputTokens: 200_000, outputTokens: 64_000, fromInputTokens: 60_000 })
    const usual = { edits: [{ type: 'compact_20260112' }] }
    expect(model({ contextManagement: usual, serverTools: [search] })).toMatchObject({
      extraPasses: [{ uses: 4, fromInputTokens: 150_000 }],
    })
  })
})
