// Tests R-CTX-12a, R-CTX-14a, R-CTX-14b: the pure functions of context management.
import * as fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { cutPointsOf, isCutPoint, newestWithin } from '../../src/context/groups.ts'
import { messagesWithin } from '../../src/context/user-messages.ts'
import { shortenedTo, shortenText, withShortResults } from '../../src/context/shorten.ts'
import { compactionThresholdOf, usableTokens } from '../../src/context/thresholds.ts'
import { estimateMessages, roughTokens } from '../../src/model/tokens.ts'
import { blockingLimitOf, windowFigures } from '../../src/model/window.ts'
import { isToolResult, type ContentBlock, type ModelMessage } from '../../src/model/messages.ts'
import { scriptedModel, transcriptProblems } from '../../src/testing/index.ts'
import { plainTokensOf, transcripts } from '../support/conversations.ts'
import { drawn } from '../support/deep.ts'

// Property tests with HALTING_DEEP take long.
vi.setConfig({ testTimeout: 300_000 })
const numRuns = drawn(1_500)
const summary: ModelMessage = { role: 'user', content: 'a summary' }

describe('where a conversation may be split', () => {
  test('the tail is valid after a summary, and the head is valid by itself', () => {
    fc.assert(
      fc.property(transcripts, (transcript) => {
        const messages = transcript.messages()
        for (const point of cutPointsOf(messages)) {
          expect(transcriptProblems([summary, ...messages.slice(point)])).toEqual([])
          expect(transcriptProblems(messages.slice(0, point))).toEqual([])
        }
      }),
      { numRuns },
    )
  })

  test('never inside a reply that the service paused, nor between a call and its result', () => {
    fc.assert(
      fc.property(transcripts, (transcript) => {
        const messages = transcript.messages()
        for (const point of cutPointsOf(messages)) {
          expect(messages[point - 1]?.role === 'assistant' && messages[point]?.role === 'assistant').toBe(false)
          const content = messages[point]?.content ?? []
          expect(typeof content !== 'string' && content.some(isToolResult)).toBe(false)
        }
        expect(isCutPoint(messages, 0)).toBe(false)
        expect(isCutPoint(messages, messages.length)).toBe(false)
      }),
      { numRuns },
    )
  })

  test('never inside server-side code that calls tools in reply after reply', () => {
    const caller = { type: 'code_execution_20260120', tool_id: 's' }
    const called = (id: string): ContentBlock[] => [{ type: 'tool_use', id, name: 'Roll', input: {}, caller } as never]
    const answers = (id: string): ModelMessage => ({ role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: '4' }] }) // prettier-ignore
    const reply = (content: ContentBlock[]): ModelMessage => ({ role: 'assistant', content }) as never
    const messages: readonly ModelMessage[] = [
      { role: 'user', content: 'Roll.' },
      reply([{ type: 'server_tool_use', id: 's', name: 'code_execution', input: {} }, ...called('a')]),
      answers('a'),
      reply(called('b')),
      answers('b'),
      reply([{ type: 'code_execution_tool_result', tool_use_id: 's', content: {} }]),
      { role: 'user', content: 'Again.' },
      reply([{ type: 'server_tool_use', id: 't', name: 'web_search' }, { type: 'web_search_tool_result', tool_use_id: 't' }]), // prettier-ignore
    ]
    expect(cutPointsOf(messages)).toEqual([1, 6, 7])
  })

  test('the newest messages within a budget are as many as fit, and at least the last group', () => {
    fc.assert(
      fc.property(transcripts, fc.integer({ min: 0, max: 40_000 }), (transcript, budget) => {
        const messages = transcript.messages()
        const points = cutPointsOf(messages)
        const start = newestWithin(messages, budget, plainTokensOf)
        expect(points.length === 0 ? [0] : points).toContain(start)
        const isLast = start === (points.at(-1) ?? 0)
        expect(isLast ? 0 : plainTokensOf(messages.slice(start))).toBeLessThanOrEqual(budget)
        const before = points[points.indexOf(start) - 1]
        expect(before === undefined ? Infinity : plainTokensOf(messages.slice(before))).toBeGreaterThan(budget)
      }),
      { numRuns },
    )
  })
})

describe('a text that is too long', () => {
  const texts = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 3_000 }),
    fc.integer({ min: 0, max: 3_000 }).map((length) => '😀'.repeat(length)),
  )

  test('is at most as long as allowed, and never longer than before', () => {
    fc.assert(
      fc.property(texts, fc.integer({ min: 0, max: 3_000 }), (text, maxLength) => {
        const shorter = shortenText(text, maxLength)
        expect(shorter.length).toBeLessThanOrEqual(text.length)
        expect(text.length <= maxLength ? shorter : text).toBe(text)
        expect(maxLength < 200 ? 0 : shorter.length).toBeLessThanOrEqual(maxLength)
      }),
      { numRuns },
    )
  })

  test('is shortened once: a second time changes nothing', () => {
    fc.assert(
      fc.property(texts, fc.integer({ min: 200, max: 3_000 }), (text, maxLength) => {
        const shorter = shortenText(text, maxLength)
        expect(shortenText(shorter, maxLength)).toBe(shorter)
      }),
      { numRuns },
    )
  })

  test('keeps its beginning and its end, reports how much is missing, and splits no character', () => {
    fc.assert(
      fc.property(texts, fc.integer({ min: 200, max: 2_000 }), (text, maxLength) => {
        const shorter = shortenText(text, maxLength)
        if (shorter === text) return
        const [, head = '', count, tail = ''] =
          /^([\s\S]*)\n\[\.\.\. (\d+) characters omitted \.\.\.\]\n([\s\S]*)$/.exec(shorter) ?? []
        expect(text.startsWith(head)).toBe(true)
        expect(text.endsWith(tail)).toBe(true)
        expect(head.length + Number(count) + tail.length).toBe(text.length)
        expect(/\p{Surrogate}/u.test(shorter)).toBe(/\p{Surrogate}/u.test(text))
      }),
      { numRuns },
    )
  })
})

describe('results that are too long', () => {
  test('are shortened in place; all other objects stay identical', () => {
    fc.assert(
      fc.property(transcripts, fc.integer({ min: 200, max: 8_000 }), (transcript, maxLength) => {
        const messages = [...transcript.messages()]
        const before = JSON.stringify(messages)
        const shorter = withShortResults(messages, maxLength)
        expect(JSON.stringify(messages)).toBe(before)
        expect(transcriptProblems(shorter)).toEqual([])
        const isAsItWas = (message: ModelMessage, index: number): boolean => message === messages[index]
        const hasSameText = (message: ModelMessage, index: number): boolean =>
          JSON.stringify(message) === JSON.stringify(messages[index])
        expect(shorter.filter(isAsItWas)).toEqual(shorter.filter(hasSameText))
        const holdsNone = ({ content }: ModelMessage): boolean =>
          typeof content === 'string' || !content.some(isToolResult)
        expect(shorter.filter(holdsNone).every((message) => messages.includes(message))).toBe(true)
        expect(plainTokensOf(shorter)).toBeLessThanOrEqual(plainTokensOf(messages))
        expect(withShortResults(shorter, maxLength).every((message, index) => message === shorter[index])).toBe(true)
      }),
      { numRuns },
    )
  })

  test('shrink until they fit or none has more than 500 characters', () => {
    fc.assert(
      fc.property(transcripts, fc.integer({ min: 100, max: 20_000 }), (transcript, budget) => {
        const shorter = shortenedTo(transcript.messages(), budget, plainTokensOf)
        const texts = shorter.flatMap(({ content }) =>
          typeof content === 'string' ? [] : content.filter(isToolResult).map((block) => block.content),
        )
        const longest = Math.max(0, ...texts.map((text) => (typeof text === 'string' ? text.length : 0)))
        expect(plainTokensOf(shorter) <= budget || longest <= 500).toBe(true)
      }),
      { numRuns },
    )
  })
})

describe('pinned user text', () => {
  const userTexts = fc.array(
    fc.oneof(
      fc.string({ minLength: 1, maxLength: 200 }),
      fc.integer({ min: 1, max: 30_000 }).map((length) => 'x'.repeat(length)),
    ),
    { minLength: 1, maxLength: 30 },
  )
  const tokensOf = (text: string): number => 4 + Math.ceil(text.length / 4)
  const sizeOf = (words: readonly string[]): number => words.reduce((sum, text) => sum + tokensOf(text), 0)

  test('stays word for word where it fits', () => {
    fc.assert(
      fc.property(userTexts, (words) => {
        expect(messagesWithin(words, sizeOf(words), tokensOf)).toEqual({ words, isShortened: false })
      }),
      { numRuns },
    )
  })

  test('fits the limit: only the first and the newest keep a minimum beyond it, and omissions are reported', () => {
    fc.assert(
      fc.property(userTexts, fc.integer({ min: 0, max: 20_000 }), (words, budget) => {
        if (sizeOf(words) <= budget) return
        const carried = messagesWithin(words, budget, tokensOf)
        expect(carried.isShortened).toBe(true)
        // The minimum of the first and of the newest, and the line that reports a gap.
        expect(sizeOf(carried.words)).toBeLessThanOrEqual(Math.max(budget, 2 * tokensOf('x'.repeat(400))) + 16)
        const omittedCount =
          words.length - carried.words.filter((text) => !/^\[\d+ messages? omitted here\.\]$/.test(text)).length
        const omitted = carried.words.flatMap((text) => /^\[(\d+) messages? omitted here\.\]$/.exec(text)?.[1] ?? [])
        expect(omitted.reduce((sum, count) => sum + Number(count), 0)).toBe(omittedCount)
      }),
      { numRuns },
    )
  })

  test('drops the task and the newest last, and the oldest in the middle first', () => {
    const words = ['the task', ...Array.from({ length: 20 }, (_, index) => `${index} ${'y'.repeat(990)}`), 'the newest']
    const { words: carried } = messagesWithin(words, 2_000, tokensOf)
    expect(carried[0]).toBe('the task')
    expect(carried.at(-1)).toBe('the newest')
    // All in the middle fit once they have 300 characters each.
    expect(carried).toHaveLength(22)
    const { words: fewer } = messagesWithin(words, 500, tokensOf)
    expect(fewer[0]).toBe('the task')
    expect(fewer[1]).toMatch(/^\[\d+ messages omitted here\.\]$/)
    expect(fewer.at(-1)).toBe('the newest')
    expect(fewer.at(-2)).toContain('19 yyy')
  })
})

describe('thresholds', () => {
  const models = fc
    .record({
      contextWindow: fc.oneof(fc.integer({ min: 4_000, max: 2_000_000 }), fc.constant(Infinity)),
      maxOutputTokens: fc.integer({ min: 256, max: 128_000 }),
      defaultOutputTokens: fc.option(fc.integer({ min: 256, max: 64_000 }), { nil: undefined }),
    })
    .map(({ defaultOutputTokens, ...rest }) =>
      scriptedModel([], defaultOutputTokens === undefined ? rest : { ...rest, defaultOutputTokens }),
    )
  const wanted = fc.oneof(
    fc.constant({}),
    fc.record({ compactAt: fc.integer({ min: 1, max: 3_000_000 }) }),
    fc.record({ compactAt: fc.integer({ min: 1, max: 100 }).map((percent) => `${percent}%` as const) }),
    fc.record({ contextThreshold: fc.integer({ min: 1, max: 3_000_000 }) }),
  )

  test('leave room for a reply in any window, from 4k to 2M', () => {
    fc.assert(
      fc.property(models, wanted, (model, options) => {
        const window = model.contextWindow
        const threshold = compactionThresholdOf(model, window, options)
        expect(threshold).toBeGreaterThanOrEqual(1_000)
        expect(Number.isNaN(threshold)).toBe(false)
        if (window === Infinity) return
        expect(threshold).toBeLessThan(usableTokens(model, window))
        expect(usableTokens(model, window)).toBeGreaterThanOrEqual(window * 0.75)
        expect(threshold).toBeLessThanOrEqual(window - Math.min(3_000, window * 0.1))
      }),
      { numRuns },
    )
  })

  test('apply at 200,000 tokens of input by default, whatever the window', () => {
    const model = scriptedModel([], { contextWindow: 2_000_000, maxOutputTokens: 64_000 })
    expect(compactionThresholdOf(model, 2_000_000, {})).toBe(200_000)
    expect(compactionThresholdOf(model, 2_000_000, { contextThreshold: 500_000 })).toBe(500_000)
    expect(compactionThresholdOf(model, 2_000_000, { compactAt: '50%' })).toBe(990_000)
    expect(compactionThresholdOf(model, 200_000, {})).toBe(167_000)
    expect(compactionThresholdOf(model, 200_000, { compactAt: 190_000 })).toBe(167_000)
  })

  test('and the figures of a window show which are passed', () => {
    const thresholds = { warning: 100, compaction: 150, blocking: blockingLimitOf(3_200) }
    expect(windowFigures(90, 3_200, thresholds)).toEqual({
      usedTokens: 90,
      windowTokens: 3_200,
      leftTokens: 3_110,
      usedPercent: 3,
      thresholds,
      leftUntilNext: 60,
      isAboveWarning: false,
      isAboveCompaction: false,
      isAtBlockingLimit: false,
    })
    expect(windowFigures(200, 3_200, thresholds)).toMatchObject({
      leftUntilNext: 0,
      isAboveWarning: true,
      isAboveCompaction: true,
      isAtBlockingLimit: true,
    })
    expect(windowFigures(4_000, 3_200, thresholds)).toMatchObject({ leftTokens: 0, usedPercent: 125 })
    const endless = { warning: Infinity, compaction: Infinity, blocking: Infinity }
    expect(windowFigures(9, Infinity, endless)).toMatchObject({ usedPercent: 0, leftTokens: Infinity })
  })
})

describe('estimates', () => {
  const image: ContentBlock = {
    type: 'image',
    source: { type: 'base64', media_type: 'image/png', data: 'A'.repeat(1_000_000) },
  }

  test('count an image by its size in pixels and not by its bytes, also inside a result', () => {
    const alone = estimateMessages(roughTokens, [{ role: 'user', content: [image] }])
    const inside = estimateMessages(roughTokens, [
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: [image] }] },
    ])
    expect(alone).toBe(1_604)
    expect(inside).toBeLessThan(1_650)
  })
})
