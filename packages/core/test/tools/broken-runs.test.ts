// Tests R-LOOP-4b, R-LOOP-4d, R-LOOP-4e, R-TOOL-1, R-TOOL-5: the results of a run that breaks during its tools.
import { describe, expect, test } from 'vitest'
import {
  createMemorySteps,
  type AgentTool,
  type HookContext,
  type StepRecord,
  type RunResult,
  type TranscriptEntry,
} from '../../src/index.ts'
import { createFakeClock } from '../../src/testing/index.ts'
import { bug } from '../support/garbage.ts'
import {
  calls,
  dollarATokenPrices,
  hook,
  reader,
  results,
  resultTexts,
  tool,
  toolEnds,
  until,
  type RunTestOptions,
  type Run,
} from '../support/harness.ts'
import { runChecked } from '../support/checked-run.ts'

const unknownOutcome = expect.stringMatching(/^The outcome of this call is unknown/u) as string
const notRun = 'Not run: the run failed before this call'
const withheld =
  'The call ended, but its result is withheld: the run failed before the hooks that inspect results had run.'
const redact = hook('afterToolUse', (context: HookContext) =>
  context.withToolOutput(String(context.toolOutput?.text).replaceAll('secret', '***')),
)
const secret = reader('Secret', 'the secret')
const failing = reader('Fail', () => { throw new Error('no secret here') }) // prettier-ignore
/** Breaks the run when a tool has failed, after the hooks have seen its result. */
const breakingOptions: RunTestOptions = { errorPolicy: bug }

const isBroken = ({ terminal }: { readonly terminal: RunResult }) => {
  expect([terminal.reason, terminal.error?.code]).toEqual(['error', expect.toBeOneOf(['callback', 'driver'])])
}

/** A step engine that fails to record the result of a call. */
function failingAt(key: string) {
  const clock = createFakeClock({ autoAdvance: true })
  const steps = createMemorySteps({
    clock,
    onRecord: (record: StepRecord) => {
      if (record.type === 'result' && record.key.includes(key)) throw new Error('disk full')
    },
  })
  return { clock, steps }
}

describe('keeps the redactions of a hook when the run breaks', () => {
  test('after it, on a later call of the batch', async () => {
    const result = await runChecked([calls('Secret', 'Fail')], {
      tools: [secret, failing],
      hooks: [redact],
      ...breakingOptions,
    })
    isBroken(result)
    expect(resultTexts(result)).toEqual(['the ***', 'no *** here'])
  })

  test('in an earlier batch', async () => {
    const write = tool('Write', 'a secret written')
    const result = await runChecked([calls('Write', 'Fail')], {
      tools: [write, failing],
      hooks: [redact],
      ...breakingOptions,
    })
    isBroken(result)
    expect(resultTexts(result)).toEqual(['a *** written', 'no *** here'])
  })

  test('and withholds what the hooks had not reached, since its redactions are unknown', async () => {
    const result = await runChecked([calls('Fail', 'Secret')], {
      tools: [secret, failing],
      hooks: [redact],
      ...breakingOptions,
    })
    isBroken(result)
    expect([resultTexts(result), toolEnds(result)]).toEqual([
      ['no *** here', withheld],
      { call_0_0: 'failed', call_0_1: 'done' },
    ])
  })

  test('also for the details', async () => {
    const detailed = reader('Detailed', () => ({ content: 'the secret', details: { secret: 'secret' } }))
    const runOptions = { tools: [detailed, failing], ...breakingOptions }
    const seen = await runChecked([calls('Detailed', 'Fail')], runOptions)
    expect(detailsOf(seen)).toEqual({ call_0_0: { secret: 'secret' } })
    const unseen = await runChecked([calls('Fail', 'Detailed')], { ...runOptions, hooks: [redact] })
    expect(detailsOf(unseen)).toBeUndefined()
  })

  test('unless only hooks on other tools exist', async () => {
    const elsewhere = hook('afterToolUse', () => {}, { tools: ['Other'] })
    const result = await runChecked([calls('Fail', 'Secret')], {
      tools: [secret, failing],
      hooks: [elsewhere],
      ...breakingOptions,
    })
    expect(resultTexts(result)).toEqual(['no secret here', 'the secret'])
  })
})

const detailsOf = ({ state }: Pick<Run, 'state'>) => {
  const entries: readonly TranscriptEntry[] = [...state.transcript]
  return entries.flatMap((entry) => (entry.kind === 'user' && entry.details !== undefined ? [entry.details] : []))[0]
}

describe('a failure of the step engine on one of several parallel calls', () => {
  test.each([
    ['first', 'Fast', 'Slow', [unknownOutcome, 'slow']],
    ['last', 'Slow', 'Fast', ['slow', unknownOutcome]],
  ])('%s, lets the others end, each with its own result', async (_which, first, second, texts) => {
    const { clock, steps } = failingAt(_which === 'first' ? 'tool:1:0:' : 'tool:1:1:')
    let finish: (text: string) => void = () => {}
    const slow = reader('Slow', () => new Promise<string>((resolve) => (finish = resolve)))
    const fast = reader('Fast', () => {
      // The step engine has failed by then.
      void until(() => steps.records.length > 5).catch(() => finish('slow'))
      return 'fast'
    })
    const result = await runChecked([calls(first, second)], { clock, steps, tools: [slow, fast] })
    isBroken(result)
    expect(resultTexts(result)).toEqual(texts)
  })

  test('keeps the spending of a parallel subagent in the figures', async () => {
    const agent: AgentTool<{ readonly prompt: string }> = {
      name: 'Agent',
      description: 'a subagent',
      inputSchema: { type: 'object' },
      readOnly: true,
      concurrencySafe: true,
      spawn: ({ prompt }) => ({ prompt }),
    }
    const { clock, steps } = failingAt('tool:1:1:')
    const result = await runChecked(
      ({ messages }) =>
        messages[0]?.content === 'sub' ? 'found it' : calls({ name: 'Agent', input: { prompt: 'sub' } }, 'Fast'),
      { clock, steps, tools: [agent, reader('Fast')], prices: dollarATokenPrices },
    )
    isBroken(result)
    expect([resultTexts(result), result.terminal.costUsd, result.terminal.summary.modelUsage]).toEqual([
      ['found it', unknownOutcome],
      30,
      { scripted: { usage: expect.objectContaining({ input_tokens: 20, output_tokens: 10 }) as object, costUsd: 30 } },
    ])
  })

  test('starts no call after them', async () => {
    const { clock, steps } = failingAt('tool:1:0:')
    const ran: string[] = []
    const write = tool('Write', () => (ran.push('Write'), 'x'))
    const result = await runChecked([calls('Fast', 'Write')], { clock, steps, tools: [reader('Fast'), write] })
    isBroken(result)
    expect([resultTexts(result), ran]).toEqual([[unknownOutcome, notRun], []])
  })

  test('keeps the time of the others in the figures', async () => {
    const clock = createFakeClock({ autoAdvance: true })
    const steps = createMemorySteps({
      clock,
      onRecord: (record) => {
        if (record.type === 'result' && record.key.includes('tool:1:1:')) throw new Error('disk full')
      },
    })
    const slow = reader('Slow', () => new Promise<string>((resolve) => void clock.after(5_000, () => resolve('slow'))))
    const result = await runChecked([calls('Slow', 'Fast')], { clock, steps, tools: [slow, reader('Fast')] })
    isBroken(result)
    expect([resultTexts(result), result.terminal.durationMs]).toEqual([['slow', unknownOutcome], 5_000])
  })
})

describe('a run that breaks keeps its results', () => {
  const noted = hook(['afterInference', 'beforeToolUse', 'afterToolUse'], (context) =>
    context.withState(
      context.state().withMetadata(context.trigger, true).withUserMessage(`noted at ${context.trigger}`),
    ),
  )

  test('in its tools: figures, metadata, messages of hooks, details, running calls', async () => {
    const detailed = reader('Detailed', () => ({ content: 'x', details: { lines: 3 } }))
    const result = await runChecked([calls('Detailed', 'Fail')], {
      tools: [detailed, failing],
      hooks: [noted],
      prices: dollarATokenPrices,
      ...breakingOptions,
    })
    isBroken(result)
    const { summary, costUsd } = result.terminal
    const hookTexts = [...result.state.transcript].flatMap((entry) =>
      entry.kind === 'user' && entry.origin === 'hook' ? [entry.message.content] : [],
    )
    expect([summary.assistantMessages, summary.toolResults, summary.requests, summary.turns, costUsd]).toEqual([
      1, 2, 1, 1, 15,
    ])
    expect(result.state.spent.metadata).toEqual({ afterInference: true, beforeToolUse: true, afterToolUse: true })
    expect(hookTexts.map(String).toSorted()).toEqual(
      ['afterInference', 'afterToolUse', 'afterToolUse', 'beforeToolUse', 'beforeToolUse'].map(
        (at) => `noted at ${at}`,
      ),
    )
    expect(detailsOf(result)).toEqual({ call_0_0: { lines: 3 } })
  })

  test('before its tools', async () => {
    const guard = { name: 'broken', checkpoints: ['after_reply'], evaluate: bug } as const
    const result = await runChecked(['done'], { hooks: [noted], stopWhen: guard })
    isBroken(result)
    expect([result.terminal.summary.assistantMessages, result.state.spent.metadata]).toEqual([
      1,
      { afterInference: true },
    ])
  })
})

describe('does not reuse a result of an earlier turn in a run that breaks', () => {
  test('when the service repeats an id', async () => {
    let requests = 0
    const denies = () => (requests > 1 ? 'not any more' : undefined)
    const result = await runChecked(() => (requests++, calls({ name: 'Write', id: 'same' })), {
      tools: [tool('Write', 'written')],
      permissions: { denies, decide: () => ({ behavior: 'allow' }) },
      hooks: [
        hook('afterInference', (context) => {
          if (requests > 1) throw new Error('for the policy')
          return context
        }),
      ],
      errorPolicy: bug,
    })
    isBroken(result)
    expect(results(result).map(({ tool_use_id, content }) => [tool_use_id, content])).toEqual([
      ['same', 'written'],
      ['same_2', notRun],
    ])
  })
})
