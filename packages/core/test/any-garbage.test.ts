// Tests R-LOOP-4, R-LOOP-4c, R-LOOP-5, R-TOOL-1, R-TOOL-16: any number of callbacks that return or throw anything.
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  AgentStopException,
  startRun,
  StopSignal,
  type AgentTool,
  type HookContext,
  type HookTrigger,
  type RunResult,
  type Tool,
} from '../src/index.ts'
import { scriptedModel, transcriptProblems, type ScriptedModel } from '../src/testing/index.ts'
import { garbage, revoked, throwing } from './support/garbage.ts'
import { begin, calls, hook, json, type RunTestOptions } from './support/harness.ts'
import { drawn } from './support/deep.ts'

/** `.ci/run` draws all the cases. */
const numRuns = drawn(2_000)

/** Fields that some answer has: garbage with one of them passes more checks than garbage without. */
const fields = [
  'action', 'agentType', 'behavior', 'block', 'content', 'context', 'details', 'error', 'fits', 'input', 'isError', 'kind', 'maxTurns', 'message',
  'messages', 'prevent', 'prompt', 'reason', 'source', 'systemMessage', 'then', 'toJSON', 'tools', 'trigger', 'type', 'updatedInput', 'usage', 'valid',
] as const // prettier-ignore

/** A description of a value that can be shown and reproduced; each use creates the value anew. */
type Recipe =
  | { readonly kind: 'listed'; readonly what: string }
  | { readonly kind: 'any'; readonly value: unknown }
  | {
      readonly kind: 'fields'
      readonly parts: readonly (readonly [string, Recipe])[]
      readonly throws: readonly string[]
    }
  | { readonly kind: 'list'; readonly parts: readonly Recipe[] }
  | { readonly kind: 'says'; readonly answer: string }

const { recipe } = fc.letrec<{ recipe: Recipe }>((tie) => ({
  recipe: fc.oneof(
    { maxDepth: 3 },
    fc.record({ kind: fc.constant('listed' as const), what: fc.constantFrom(...garbage.map(([what]) => what)) }),
    fc.record({
      kind: fc.constant('any' as const),
      value: fc.anything({
        withBigInt: true,
        withBoxedValues: true,
        withDate: true,
        withMap: true,
        withNullPrototype: true,
        withSet: true,
        withSparseArray: true,
        withTypedArray: true,
        maxDepth: 2,
      }),
    }),
    fc.record({
      kind: fc.constant('fields' as const),
      parts: fc.array(fc.tuple(fc.constantFrom(...fields), tie('recipe')), { maxLength: 4 }),
      throws: fc.subarray([...fields], { maxLength: 2 }),
    }),
    fc.record({ kind: fc.constant('list' as const), parts: fc.array(tie('recipe'), { maxLength: 3 }) }),
    fc.record({
      kind: fc.constant('says' as const),
      answer: fc.constantFrom(
        'allow',
        'deny',
        'ask',
        'text',
        'image',
        'tool_use',
        'compacted',
        'user',
        'error',
        'cost_limit',
      ),
    }),
    fc.record({ kind: fc.constant('any' as const), value: fc.constantFrom(true, false, 0, -1, Infinity) }),
  ),
}))

function valueOf(from: Recipe): unknown {
  switch (from.kind) {
    case 'listed':
      return garbage.find(([what]) => what === from.what)?.[1]()
    case 'any':
      return from.value
    case 'says':
      return from.answer
    case 'list':
      return from.parts.map(valueOf)
    case 'fields':
      return throwing(Object.fromEntries(from.parts.map(([name, part]) => [name, valueOf(part)])), ...from.throws)
  }
}

interface Behaviour {
  readonly where: string
  readonly how: 'throws' | 'gives' | 'rejects' | 'gives later' | 'stops' | 'changes'
  readonly recipe: Recipe
}

const hookTriggers: readonly HookTrigger[] = [
  'beforeExecution', 'beforeStep', 'beforeInference', 'afterInference', 'beforeToolUse', 'afterToolUse', 'afterStep', 'onStop', 'onError', 'afterExecution',
] // prettier-ignore
const places: readonly string[] = [
  ...hookTriggers.map((trigger) => `hook ${trigger}`),
  'execute', 'validate', 'readOnly', 'spawn', 'stop hook', 'denies', 'decide', 'cancellation', 'guard', 'error policy', 'output', 'cost', 'worst case',
  'estimate', 'context', 'drain', 'compact', 'limit', 'compaction', 'after the run', 'terminal', 'model', 'content', 'block', 'usage', 'input', 'id', 'steer', 'progress',
] // prettier-ignore

/** Places where the run needs an answer to continue: without one it ends as `error`. Garbage from anywhere else never ends it this way. */
const needed: ReadonlySet<string> = new Set([
  'guard', 'error policy', 'output', 'estimate', 'context', 'drain', 'compact', 'limit',
]) // prettier-ignore

const behaviour: fc.Arbitrary<Behaviour> = fc.record({
  where: fc.constantFrom(...places),
  how: fc.constantFrom('throws', 'gives', 'rejects', 'gives later', 'stops', 'changes'),
  recipe,
})

/** A value that plain JavaScript code can pass where the types forbid it. */
const untyped = (value: unknown): never => value as never

/** A callback that behaves as drawn, and correctly otherwise. */
function callbackFor(
  drawn: readonly Behaviour[],
  where: string,
  otherwise: (...callArgs: never[]) => unknown,
): () => never {
  const found = drawn.find((each) => each.where === where)
  if (found === undefined) return otherwise as () => never
  const value = () => valueOf(found.recipe)
  return (...callArgs: readonly unknown[]) => {
    switch (found.how) {
      case 'throws':
        throw value()
      case 'rejects':
        return untyped(Promise.reject(value()))
      case 'gives later':
        return untyped(Promise.resolve().then(value))
      case 'stops':
        throw new AgentStopException({ message: untyped(value()), context: untyped(value()), source: untyped(value()) })
      case 'changes':
        return untyped(withGarbage(callArgs[0], value()))
      case 'gives':
        return untyped(value())
    }
  }
}

/** For hooks, a context with garbage in every field. For other callbacks, the garbage itself. */
function withGarbage(original: unknown, value: unknown): unknown {
  const context = original as HookContext
  if (typeof context !== 'object' || !('withToolInput' in context)) return value
  const state = context
    .state()
    .withMetadata('odd', untyped(value))
    .withUserMessage(untyped(value))
    .withStopSignal(
      new StopSignal({
        reason: untyped(value),
        message: untyped(value),
        context: untyped(value),
        source: untyped(value),
      }),
    )
  const garbled = context.withState(state)
  if (context.trigger === 'beforeToolUse') return garbled.withToolInput(untyped(value)).withPermission(untyped(value))
  return context.trigger === 'afterToolUse'
    ? garbled.withToolOutput(untyped(value)).withContinuationPrevented(untyped(value))
    : garbled
}

function world(
  drawn: readonly Behaviour[],
  runResults: RunResult[],
): { runOptions: RunTestOptions; model: ScriptedModel } {
  const answers = (where: string, otherwise: (...runOptions: never[]) => unknown) =>
    callbackFor(drawn, where, otherwise)
  const isOdd = (where: string) => drawn.some((each) => each.where === where)
  const garbled = (where: string, otherwise: unknown): unknown => {
    const found = drawn.find((each) => each.where === where)
    return found === undefined ? otherwise : valueOf(found.recipe)
  }
  const isTooLong = isOdd('drain') || isOdd('compact') || isOdd('compaction')
  const script = scriptedModel(
    (_request, index) =>
      isTooLong && index === 1
        ? { error: { kind: 'prompt_too_long', message: 'too long' } }
        : index < 2
          ? {
              text: 'looking',
              ...calls(
                { name: 'Look', id: untyped(garbled('id', 'c')), input: untyped(garbled('input', {})) },
                { name: 'Look', id: 'c' },
                { name: 'Agent', input: { prompt: 'sub' } },
                'Write',
              ),
              usage: untyped(isOdd('usage') ? garbled('usage', {}) : {}),
            }
          : 'done',
    { maxOutputTokens: 2_000 },
  )
  const model: ScriptedModel = {
    ...script,
    async call(request, options) {
      if (isOdd('model')) return answers('model', () => undefined)()
      if (isOdd('block'))
        options.emit({ type: 'block', index: 0, block: untyped(garbled('block', {})), messageId: 'm' })
      const reply = await script.call(request, options)
      return isOdd('content') ? { message: { ...reply.message, content: untyped(garbled('content', [])) } } : reply
    },
  }
  const look: Tool = {
    name: 'Look',
    description: 'looks',
    inputSchema: {},
    validate: answers('validate', (input) => ({ valid: true, input })),
    readOnly: answers('readOnly', () => true),
    execute: (_input, context) => {
      context.progress(untyped(garbled('progress', 1)))
      return answers('execute', () => 'seen')()
    },
  }
  const write: Tool = {
    name: 'Write',
    description: 'writes',
    inputSchema: {},
    readOnly: false,
    execute: answers('execute', () => 'written'),
  }
  const agent: AgentTool = {
    name: 'Agent',
    description: 'a subagent',
    inputSchema: {},
    readOnly: true,
    spawn: answers('spawn', () => ({ prompt: 'sub' })),
  }
  const compaction = { trigger: 'auto', run: answers('compaction', () => ({ kind: 'gave_up', message: 'no' })) }
  const runOptions: RunTestOptions = {
    model,
    tools: [look, agent, write],
    hooks: hookTriggers.map((trigger) =>
      hook(
        trigger,
        answers(`hook ${trigger}`, () => undefined),
        { id: trigger },
      ),
    ),
    stopHooks: [{ id: 'stop', handle: answers('stop hook', () => undefined) }],
    postRun: [{ name: 'after', start: answers('after the run', () => Promise.resolve()) }],
    permissions: {
      denies: answers('denies', () => undefined),
      decide: answers('decide', () => ({ behavior: 'allow' })),
    },
    cancellation: [{ cancellationSignal: answers('cancellation', () => undefined) }],
    stopWhen: { name: 'guard', evaluate: answers('guard', () => undefined) },
    errorPolicy: answers('error policy', () => false),
    output: { check: answers('output', () => ({ fits: true, value: null })) },
    prices: { cost: answers('cost', () => 1), worstCase: answers('worst case', () => 1) },
    tokens: { estimate: answers('estimate', () => 10) },
    context: {
      autoCompact: true,
      beforeRequest: answers('context', () => (isOdd('compaction') ? compaction : undefined)),
      drain: answers('drain', () => undefined),
      compact: answers('compact', () => (isOdd('compaction') ? compaction : undefined)),
      blockingLimit: answers('limit', () => Infinity),
    },
    maxTurns: 4,
    maxDurationMs: 60_000,
    maxRetries: 2,
    onResult: (terminal) => {
      runResults.push(terminal)
      return answers('terminal', () => undefined)()
    },
  }
  return { runOptions, model }
}

/** Classes of the record define their own JSON. */
function plain(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(plain)
  if ('toJSON' in value && typeof value.toJSON === 'function') return plain(value.toJSON())
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, plain(part)]))
}

test(
  'a run has one run result, a transcript that the service accepts, a result for every call, and a JSON record',
  { timeout: 300_000 },
  async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(behaviour, { minLength: 1, maxLength: 3, selector: ({ where }) => where }),
        async (drawn) => {
          const runResults: RunResult[] = []
          const { runOptions } = world(drawn, runResults)
          const going = begin([], runOptions)
          const steered = drawn.find(({ where }) => where === 'steer')
          if (steered !== undefined) going.loop.steer(untyped(valueOf(steered.recipe)))
          // Checks the one `run_end`, the transcript of the run and that of every request.
          const { terminal, state, steps } = await going.end()
          expect(runResults).toEqual([terminal])
          const isNeeded = drawn.some(({ where }) => needed.has(where))
          expect(isNeeded ? ['internal'] : ['internal', 'callback']).not.toContain(terminal.error?.code)
          const next = startRun({ transcript: state.transcript, prompt: 'again', runId: 'run2' })
          expect(transcriptProblems(next.transcript.messages())).toEqual([])
          const records = steps.records.filter(({ type }) => type !== 'end')
          expect(json(records)).toEqual(plain(records))
          for (const usd of [terminal.costUsd, terminal.committedUsd, terminal.durationMs])
            expect(usd).toBeGreaterThanOrEqual(0)
        },
      ),
      { numRuns },
    )
  },
)

test('treats a revoked proxy as the reason of an abort as an abort', async () => {
  const controller = new AbortController()
  controller.abort(revoked())
  const { terminal } = await begin(['never'], { signal: controller.signal }).end()
  expect(terminal.reason).toBe('aborted_streaming')
})
