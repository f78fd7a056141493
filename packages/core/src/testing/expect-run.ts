import type { EndingReason } from '../endings/ending.ts'
import { endings } from '../endings/table.ts'
import { isEndingReason } from '../endings/is-ending-reason.ts'
import type { RunResult } from '../endings/run-result.ts'
import { ConfigurationError } from '../values/errors.ts'
import { fieldsOf, isPositive, refuse } from '../values/validators.ts'
import type { RunStream } from '../api/iterate.ts'
import { jsonOf, type Json } from '../values/json.ts'
import { isToolUse, type ModelMessage } from '../model/messages.ts'
import { startOfOutcome, type RunOutcome } from '../api/run-outcome.ts'
import { headOf, countOf } from '../values/text.ts'
import { fitsInput, type InputMatcher } from './input-matcher.ts'

/** An ended run: the result of `run`, or only the run result, which has neither the answer nor the calls. */
export type EndedRunSubject = RunOutcome | RunResult

/** Maximum usage of a run. At least one field. */
export interface RunLimitsExpected {
  /** Turns, as `RunOutcome.turns`. */
  readonly turns?: number
  /** Requests that reached the model, including retries. */
  readonly requests?: number
  /** Input and output tokens, including subagents. */
  readonly tokens?: number
  /** Tool calls that the model made in the run itself. */
  readonly toolCalls?: number
}

/** Expectations about a run. `Checked` is `void`, or a promise of it if the run is awaited first. */
export interface RunExpectations<Checked> {
  /** The opposite of each expectation. */
  readonly not: RunExpectations<Checked>
  /** Expects that the run ended for this reason. */
  toEndAs(reason: EndingReason): Checked
  /**
   * Expects that the run cost at most this, in US dollars, including what requests with an unknown outcome may have
   * cost.
   * @throws ConfigurationError for a run that used tokens and has no prices: every limit would be met.
   */
  toCostAtMost(usd: number): Checked
  /** Expects that the run used at most this. */
  toTakeAtMost(limits: RunLimitsExpected): Checked
  /** Expects that the last answer is this text, apart from surrounding white space, or matches the expression. */
  toHaveAnswered(answer: string | RegExp): Checked
  /**
   * Expects that the model called the tool in this run, whatever the result. With `input` at least one call must match
   * it. It is an object with at least these fields, whose values may be expressions and asymmetric matchers of a test
   * framework, or a function. Calls of subagents belong to their own runs and do not count.
   */
  toHaveCalled(tool: string, input?: InputMatcher): Checked
}

/** A failed expectation about a run. Test runners show `expected` and `actual`, as for an `AssertionError`. */
export class RunAssertionError extends Error {
  override readonly name = 'AssertionError'
  /** The code of Node's assertion errors. */
  readonly code = 'ERR_ASSERTION'
  readonly generatedMessage = false
  /** The expectation, such as `toEndAs`. */
  readonly operator: string
  /** The value that the test requires, for the diff of test runners. */
  readonly expected: unknown
  /** The actual value. */
  readonly actual: unknown

  constructor(message: string, operator: string, expected: unknown, actual: unknown) {
    super(message)
    this.operator = operator
    this.expected = expected
    this.actual = actual
  }
}

/**
 * Expectations about a run, for any test runner: `await expectRun(run({ model, prompt })).toEndAs('completed')`. A
 * failed expectation throws an error with the expected value, and the ending, figures, calls and answer of the run. For
 * an ended run, expectations are checked synchronously; await those of a promise or a stream.
 * @throws ConfigurationError for anything that is not a run, and for an expectation that checks nothing.
 */
export function expectRun(run: EndedRunSubject): RunExpectations<void>
export function expectRun(run: RunStream | PromiseLike<EndedRunSubject>): RunExpectations<Promise<void>>
export function expectRun(
  run: EndedRunSubject | RunStream | PromiseLike<EndedRunSubject>,
): RunExpectations<void> | RunExpectations<Promise<void>> {
  const value: unknown = run
  const fields = fieldsOf(value) ?? refuse('expectRun', 'given what run() returns, a RunStream or a promise', value)
  if (typeof fields['then'] === 'function') return later(() => run as PromiseLike<EndedRunSubject>, true)
  if (Symbol.asyncIterator in fields && 'result' in fields) return later(() => (run as RunStream).result, true)
  return atOnce(endedRun(run), true)
}

function atOnce(run: EndedRunSubject, holds: boolean): RunExpectations<void> {
  const check = (one: Expectation): void => checkExpectation(run, one, holds)
  return {
    get not() {
      return atOnce(run, !holds)
    },
    toEndAs: (reason) => check(endsAs(reason)),
    toCostAtMost: (usd) => check(costsAtMost(usd)),
    toTakeAtMost: (limits) => check(takesAtMost(limits)),
    toHaveAnswered: (answer) => check(hasAnswered(answer)),
    toHaveCalled: (tool, input) => check(hasCalled(tool, input)),
  }
}

function later(run: () => PromiseLike<EndedRunSubject>, holds: boolean): RunExpectations<Promise<void>> {
  // The expectation is validated immediately, and the run when it has ended.
  const check = async (made: () => Expectation): Promise<void> => {
    const one = made()
    checkExpectation(endedRun(await run()), one, holds)
  }
  return {
    get not() {
      return later(run, !holds)
    },
    toEndAs: (reason) => check(() => endsAs(reason)),
    toCostAtMost: (usd) => check(() => costsAtMost(usd)),
    toTakeAtMost: (limits) => check(() => takesAtMost(limits)),
    toHaveAnswered: (answer) => check(() => hasAnswered(answer)),
    toHaveCalled: (tool, input) => check(() => hasCalled(tool, input)),
  }
}

/** Plain JavaScript may pass anything. @throws ConfigurationError */
function endedRun(run: unknown): EndedRunSubject {
  const fields = fieldsOf(run)
  if (typeof fields?.['reason'] !== 'string' || fieldsOf(fields['summary']) === undefined)
    refuse('The run', 'what run() resolves to, or a RunResult', run)
  // The fields that are read in this file were checked.
  return run as EndedRunSubject
}

/** One expectation, before it is compared with a run. */
interface Expectation {
  readonly operator: string
  /** What the run should do, after "Expected the run to". */
  readonly wish: string
  readonly expected: unknown
  /** What the run did. @throws ConfigurationError if this kind of subject does not have it. */
  actualOf(run: EndedRunSubject): { readonly holds: boolean; readonly actual: unknown; readonly did: string }
}

function checkExpectation(run: EndedRunSubject, one: Expectation, holds: boolean): void {
  const found = one.actualOf(run)
  if (found.holds === holds) return
  const wish = holds ? one.wish : `not ${one.wish}`
  const message = `Expected the run to ${wish}, but it ${found.did}.\n${explanationOf(run)}`
  throw new RunAssertionError(message, holds ? one.operator : `not.${one.operator}`, one.expected, found.actual)
}

function endsAs(reason: EndingReason): Expectation {
  if (!isEndingReason(reason)) refuse('The ending', `one of ${Object.keys(endings).join(', ')}`, reason)
  return {
    operator: 'toEndAs',
    wish: `end as ${reason}`,
    expected: reason,
    actualOf: (run) => ({ holds: run.reason === reason, actual: run.reason, did: `ended as ${run.reason}` }),
  }
}

function costsAtMost(usd: number): Expectation {
  if (!(typeof usd === 'number' && usd >= 0)) refuse('The cost', 'a number of US dollars of at least 0', usd)
  return {
    operator: 'toCostAtMost',
    wish: `cost at most $${usd}`,
    expected: usd,
    actualOf({ committedUsd, totalTokens }) {
      if (committedUsd === 0 && totalTokens > 0)
        throw new ConfigurationError(
          `The run used ${countOf(totalTokens, 'token')} and cost nothing, so every limit in dollars holds. Give the run prices, or use toTakeAtMost({ tokens }).`,
        )
      return { holds: committedUsd <= usd, actual: committedUsd, did: `cost $${committedUsd}` }
    },
  }
}

type Used = { readonly [limit in keyof RunLimitsExpected]-?: (run: EndedRunSubject) => number }

const used: Used = {
  turns: ({ summary }) => summary.turns,
  requests: ({ summary }) => summary.requests,
  tokens: ({ totalTokens }) => totalTokens,
  toolCalls: (run) => callsOf(run, 'toTakeAtMost({ toolCalls })').length,
}

function takesAtMost(limits: RunLimitsExpected): Expectation {
  const value = fieldsOf(limits) ?? refuse('The limits', 'an object, such as { turns: 3 }', limits)
  const names = Object.keys(value).filter((name) => value[name] !== undefined)
  if (names.length === 0)
    throw new ConfigurationError('toTakeAtMost checks nothing. Give a limit, such as { turns: 3 }.')
  for (const name of names) {
    if (!Object.hasOwn(used, name))
      throw new ConfigurationError(`Unknown limit ${name}. There are ${Object.keys(used).join(', ')}.`)
    if (value[name] !== 0) isPositive(`The limit on ${name}`, value[name])
  }
  // Validated above.
  const known = names as readonly (keyof RunLimitsExpected)[]
  const words = (value: (name: keyof RunLimitsExpected) => number | undefined): string =>
    known.map((name) => `${value(name)} ${unitOf[name]}`).join(', ')
  return {
    operator: 'toTakeAtMost',
    wish: `take at most ${words((name) => limits[name])}`,
    expected: limits,
    actualOf(run) {
      const actual = Object.fromEntries(known.map((name) => [name, used[name](run)]))
      const holds = known.every((name) => used[name](run) <= (limits[name] ?? Infinity))
      return { holds, actual, did: `took ${words((name) => actual[name])}` }
    },
  }
}

const unitOf = { turns: 'turns', requests: 'requests', tokens: 'tokens', toolCalls: 'tool calls' } as const

function hasAnswered(answer: string | RegExp): Expectation {
  if (typeof answer !== 'string' && !(answer instanceof RegExp))
    refuse('The answer', 'a text or a regular expression', answer)
  return {
    operator: 'toHaveAnswered',
    wish: `answer ${answer instanceof RegExp ? String(answer) : JSON.stringify(answer)}`,
    expected: answer,
    actualOf(run) {
      const { text } = conversationOf(run, 'toHaveAnswered')
      const holds = typeof answer === 'string' ? text.trim() === answer.trim() : text.search(answer) !== -1
      return { holds, actual: text, did: text === '' ? 'gave no answer' : `answered ${JSON.stringify(text)}` }
    },
  }
}

function hasCalled(tool: string, input: InputMatcher | undefined): Expectation {
  if (typeof tool !== 'string' || tool === '') refuse('The tool', 'the name of a tool', tool)
  if (input !== undefined && typeof input !== 'function' && fieldsOf(input) === undefined)
    refuse('The input', 'an object or a function', input)
  const like =
    input === undefined ? '' : typeof input === 'function' ? ' with a matching input' : ` with ${inWords(input)}`
  return {
    operator: 'toHaveCalled',
    wish: `call ${tool}${like}`,
    expected: input === undefined ? tool : { tool, input },
    actualOf(run) {
      const calls = callsOf(run, 'toHaveCalled')
      const holds = calls.some((call) => call.tool === tool && (input === undefined || fitsInput(call.input, input)))
      const did = calls.length === 0 ? 'called no tool' : `called ${calls.map(({ tool: name }) => name).join(', ')}`
      return { holds, actual: calls, did }
    },
  }
}

function inWords(input: object): string {
  return headOf(
    JSON.stringify(input, (_name, value: unknown) => (value instanceof RegExp ? String(value) : value)) ?? '',
    200,
  )
}

interface Call {
  readonly tool: string
  readonly input: Json
}

/** Calls that the model made in this run. */
function callsOf(run: EndedRunSubject, what: string): readonly Call[] {
  const { transcript } = conversationOf(run, what)
  return transcript
    .since(startOfOutcome(run))
    .flatMap((entry) => (entry.kind === 'assistant' ? callsIn(entry.message) : []))
}

function callsIn({ content }: ModelMessage): readonly Call[] {
  return typeof content === 'string'
    ? []
    : content.filter(isToolUse).map(({ name, input }) => ({ tool: name, input: jsonOf(input) }))
}

/** @throws ConfigurationError for a bare run result, which has no conversation. */
function conversationOf(run: EndedRunSubject, what: string): RunOutcome {
  if ('transcript' in run) return run
  throw new ConfigurationError(
    `${what} needs the conversation, which a RunResult does not have. Pass what run() returns.`,
  )
}

/** Maximum characters of the answer and of inputs of calls in a message. */
const maxOfAnswer = 500
const maxOfInput = 100
const maxCalls = 20

/** How the run ended, in lines: reason, figures, calls and answer. */
function explanationOf(run: EndedRunSubject): string {
  const { signal, summary, totalTokens, costUsd, error } = run
  const figures = [countOf(summary.turns, 'turn'), countOf(summary.requests, 'request'), countOf(totalTokens, 'token')]
  const lines = [`${run.reason}: ${signal.message}`, `${figures.join(', ')}, $${Number(costUsd.toFixed(6))}`]
  if (error !== undefined && !signal.message.includes(error.message)) lines.push(`${error.code}: ${error.message}`)
  if ('transcript' in run) {
    const calls = callsOf(run, '')
    const shownCalls = calls.slice(0, maxCalls).map(callInWords)
    const left = calls.length - shownCalls.length
    if (left > 0) shownCalls.push(`and ${left} more`)
    lines.push(calls.length === 0 ? 'No tool was called.' : `Calls: ${shownCalls.join(', ')}`)
    const { text } = run
    lines.push(text === '' ? 'No answer.' : `Answer: ${headOf(JSON.stringify(text), maxOfAnswer)}`)
  }
  return lines.map((line) => `  ${line}`).join('\n')
}

function callInWords({ tool, input }: Call): string {
  const hasInput = Object.keys(fieldsOf(input) ?? {}).length > 0
  return hasInput ? `${tool}(${headOf(JSON.stringify(input), maxOfInput)})` : tool
}
