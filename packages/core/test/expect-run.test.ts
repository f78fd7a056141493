// Tests R-LIB-11: expectations about a run, with vitest and without it.
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ConfigurationError, endings, run, streamRun, tool, type EndingReason, type RunOutcome } from '../src/index.ts'
import {
  expectRun,
  RunAssertionError,
  scriptedModel,
  type RunExpectations,
  type ScriptedReply,
} from '../src/testing/index.ts'
import { dollarATokenPrices } from './support/harness.ts'

const search = tool({
  name: 'Search',
  description: '',
  readOnly: true,
  inputSchema: { type: 'object', properties: { query: { type: 'string' }, most: { type: 'integer' } } },
  execute: () => 'found',
})
const searches = (...inputs: readonly object[]): ScriptedReply => ({
  toolCalls: inputs.map((input) => ({ name: 'Search', input })),
})
const script = [searches({ query: 'cats', most: 3 }, { query: 'dogs' }), 'Cats win.']
const options = () => ({ model: scriptedModel(script), tools: [search], prompt: 'Which?', prices: dollarATokenPrices })
const failed = async (expectation: () => unknown): Promise<RunAssertionError> => {
  try {
    await expectation()
  } catch (thrown) {
    if (thrown instanceof RunAssertionError) return thrown
    throw thrown
  }
  throw new Error('The expectation held.')
}

describe('an expectation', () => {
  test.each<[string, () => Promise<RunExpectations<unknown>>]>([
    ['an outcome', async () => expectRun(await run(options()))],
    ['a promise of one', async () => expectRun(run(options()))],
    ['a stream', async () => expectRun(streamRun(options()))],
  ])('passes or fails, and its negation does the opposite, about %s', async (_what, of) => {
    const ended = await of()
    await ended.toEndAs('completed')
    await ended.not.toEndAs('max_turns')
    await ended.not.not.toEndAs('completed')
    await ended.toTakeAtMost({ turns: 2, requests: 2, tokens: 30, toolCalls: 2 })
    await ended.not.toTakeAtMost({ turns: 2, toolCalls: 1 })
    await ended.toCostAtMost(30)
    await ended.not.toCostAtMost(29.9)
    await ended.toHaveAnswered(' Cats win. ')
    await ended.toHaveAnswered(/^cats/i)
    await ended.not.toHaveAnswered('Cats')
    await ended.not.toHaveAnswered(/dogs/g)
    await ended.toHaveCalled('Search')
    await ended.not.toHaveCalled('Read')
    const wrong = await failed(() => ended.toHaveAnswered('Dogs win.'))
    expect([wrong.name, wrong.code, wrong.operator]).toEqual(['AssertionError', 'ERR_ASSERTION', 'toHaveAnswered'])
    expect([wrong.expected, wrong.actual]).toEqual(['Dogs win.', 'Cats win.'])
  })

  test.each<[string, object | ((input: unknown) => boolean), boolean]>([
    ['some of its fields', { query: 'cats' }, true],
    ['fields of two calls', { query: 'dogs', most: 3 }, false],
    ['a field that it does not have', { page: 1 }, false],
    ['a field that it must not have', { query: 'dogs', most: undefined }, true],
    ['an expression', { query: /^DOG/i }, true],
    ['a matcher of the test framework', { most: expect.any(Number) }, true],
    ['a matcher for the whole', expect.objectContaining({ query: 'cats' }), true],
    ['one that does not match', { query: expect.stringMatching('bird') as unknown }, false],
    ['a function', (input: unknown) => JSON.stringify(input).includes('dogs'), true],
    ['a function that returns false', () => false, false],
  ])('about the input of a call: %s', async (_what, input, passes) => {
    const called = expectRun(await run(options()))
    const matcher = input as Readonly<Record<string, unknown>>
    const opposite = passes ? called.not : called
    opposite.not.toHaveCalled('Search', matcher)
    expect((await failed(() => opposite.toHaveCalled('Search', matcher))).expected).toEqual({ tool: 'Search', input })
  })

  test('of a run over a history is about the calls of that run only', async () => {
    const first = await run(options())
    const second = await run({ model: scriptedModel(['Still cats.']), messages: first.messages, prompt: 'Sure?' })
    expectRun(second).toTakeAtMost({ toolCalls: 0 })
    expect((await failed(() => expectRun(second).toHaveCalled('Search'))).actual).toEqual([])
  })

  test('explains how the run ended', async () => {
    const model = scriptedModel(() => searches({ query: 'cats' }))
    const { message } = await failed(() => expectRun(run({ ...options(), model, maxTurns: 2 })).toEndAs('completed'))
    expect(message).toBe(
      [
        'Expected the run to end as completed, but it ended as max_turns.',
        '  max_turns: Reached maximum number of turns (2)',
        '  2 turns, 2 requests, 30 tokens, $30',
        '  Calls: Search({"query":"cats"}), Search({"query":"cats"})',
        '  No answer.',
      ].join('\n'),
    )
  })

  test('about the run result needs no conversation, unless it is about one', async () => {
    const { terminal } = await streamRun(options()).ended
    expectRun(terminal).toEndAs('completed')
    expectRun(terminal).toTakeAtMost({ turns: 2 })
    expect(() => expectRun(terminal).toHaveCalled('Search')).toThrow(ConfigurationError)
    expect(() => expectRun(terminal).toHaveAnswered('x')).toThrow('Pass what run() returns.')
    expect((await failed(() => expectRun(terminal).toEndAs('refusal'))).actual).toBe('completed')
  })

  test('of a run that cannot begin fails with the error of the run', async () => {
    const broken = run({ ...options(), maxTurns: 0 })
    await expect(expectRun(broken).not.toEndAs('completed')).rejects.toThrow(ConfigurationError)
  })
})

test.each<[string, (outcome: RunOutcome) => unknown, string]>([
  ['an invalid run', () => expectRun('x' as never), 'expectRun must be given what run() returns'],
  ['a promise', () => expectRun({} as never), 'The run must be what run() resolves to'],
  ['an unknown ending', (one) => expectRun(one).toEndAs('done' as never), 'The ending must be one of completed'],
  ['no limit', (one) => expectRun(one).toTakeAtMost({}), 'toTakeAtMost checks nothing.'],
  ['an unknown limit', (one) => expectRun(one).toTakeAtMost({ steps: 1 } as never), 'Unknown limit steps.'],
  [
    'a limit that is not a number',
    (one) => expectRun(one).toTakeAtMost({ turns: '1' } as never),
    'The limit on turns must',
  ],
  ['an invalid cost', (one) => expectRun(one).toCostAtMost(Number.NaN), 'The cost must be a number'],
  ['an invalid answer', (one) => expectRun(one).toHaveAnswered(1 as never), 'The answer must be a text'],
  ['an invalid tool', (one) => expectRun(one).toHaveCalled(search as never), 'The tool must be the name of a tool'],
  ['an invalid input', (one) => expectRun(one).toHaveCalled('Search', 'x' as never), 'The input must be an object'],
])('%s is rejected, whatever the run did', async (_what, expectation, says) => {
  const outcome = await run(options())
  expect(() => expectation(outcome)).toThrow(ConfigurationError)
  expect(() => expectation(outcome)).toThrow(says)
})

test('rejects a dollar limit that nothing could exceed', async () => {
  const outcome = await run({ model: scriptedModel(['hi']), prompt: 'go' })
  expect(() => expectRun(outcome).toCostAtMost(1)).toThrow('15 tokens and cost nothing')
})

test('an expectation and its negation never agree', async () => {
  const outcome = await run(options())
  const reasons = Object.keys(endings) as EndingReason[]
  const passes = (expectation: () => void): boolean => {
    try {
      expectation()
      return true
    } catch (thrown) {
      if (thrown instanceof RunAssertionError) return false
      throw thrown
    }
  }
  fc.assert(
    fc.property(
      fc.constantFrom(...reasons),
      fc.double({ min: 0, max: 100, noNaN: true }),
      fc.integer({ min: 0, max: 9 }),
      fc.oneof(fc.string(), fc.constantFrom('Cats win.', 'Cats')),
      (reason, usd, turns, text) => {
        for (const of of [
          (one: ReturnType<typeof plain>) => one.toEndAs(reason),
          (one: ReturnType<typeof plain>) => one.toCostAtMost(usd),
          (one: ReturnType<typeof plain>) => one.toTakeAtMost({ turns }),
          (one: ReturnType<typeof plain>) => one.toHaveAnswered(text),
          (one: ReturnType<typeof plain>) => one.toHaveCalled(text === '' ? 'Search' : text),
        ]) {
          expect(passes(() => of(plain()))).toBe(!passes(() => of(plain().not)))
        }
      },
    ),
  )
  function plain() {
    return expectRun(outcome)
  }
})
