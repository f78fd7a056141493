// Tests R-PERM-12 to R-PERM-12c: no permission request is made for a call that cannot succeed.
import { describe, expect, test } from 'vitest'
import {
  CallableHook,
  createMemorySteps,
  replay,
  resume,
  type RunOptions,
  type PermissionDecision,
  type Permissions,
  type StepRecord,
  type Tool,
} from '../../src/index.ts'
import type { CanUseTool } from '../../src/entries/adapters.ts'
import { createFakeClock, scriptedModel } from '../../src/testing/index.ts'
import { begin, calls, hook, json, resultTexts, run, tool, toolEnds, until } from '../support/harness.ts'
import { killedAfter } from '../support/kill-process.ts'

/** A tool whose precheck fails as long as `why` has a text, and that records its calls. */
function precheckedTool(failure: Tool['precheck'] | undefined, log: string[] = []): Tool {
  return tool('Edit', () => (log.push('ran'), 'edited'), {
    precheck(input, context) {
      log.push('checked')
      return failure?.(input, context)
    },
  })
}

function rules(decision: PermissionDecision, more: Partial<Permissions> = {}): Permissions {
  return { denies: () => undefined, decide: () => decision, ...more }
}

const asking = rules({ behavior: 'ask', message: 'May it edit?' })

/** Approves, and records that it was called. */
const approving =
  (log: string[]): CanUseTool =>
  () => {
    log.push('asked')
    return { behavior: 'allow' }
  }

describe('a call that cannot succeed', () => {
  test('is not asked about: the model gets the reason, and nothing is denied', async () => {
    const log: string[] = []
    const tools = [precheckedTool(() => 'the text is not there', log)]
    const result = await run([calls('Edit'), 'done'], { tools, permissions: asking, canUseTool: approving(log) })
    expect([result.terminal.reason, resultTexts(result), log]).toEqual([
      'completed',
      ['the text is not there'],
      ['checked'],
    ])
    expect(Object.values(toolEnds(result))).toEqual(['failed'])
    expect(result.events.filter(({ type }) => type === 'permission_denied' || type === 'approval_needed')).toEqual([])
  })

  test('does not end the run when nobody is there to be asked', async () => {
    const tools = [precheckedTool(() => 'no')]
    const result = await run([calls('Edit'), 'done'], { tools, permissions: asking, onAsk: 'end' })
    expect([result.terminal.reason, resultTexts(result)]).toEqual(['completed', ['no']])
  })

  test.each([
    ['denied', rules({ behavior: 'deny', message: 'never' }), ['never'], []],
    ['denied by a deny rule', { ...asking, denies: () => 'closed' }, ['closed'], []],
    ['allowed', rules({ behavior: 'allow' }), ['edited'], ['ran']],
  ] as const)('that is %s is not checked', async (_what, permissions, texts, expected) => {
    const log: string[] = []
    const tools = [precheckedTool(() => 'no', log)]
    const result = await run([calls('Edit'), 'done'], { tools, permissions, canUseTool: approving(log) })
    expect([resultTexts(result), log]).toEqual([texts, expected])
  })

  test('fails also when a hook has asked about it', async () => {
    const log: string[] = []
    const asks = hook('beforeToolUse', (context) => context.withPermission('ask'))
    const runOptions = {
      tools: [precheckedTool(() => 'no', log)],
      hooks: [asks],
      permissions: rules({ behavior: 'allow' }),
    }
    const result = await run([calls('Edit'), 'done'], { ...runOptions, canUseTool: approving(log) })
    expect([resultTexts(result), log]).toEqual([['no'], ['checked']])
  })

  test('counts as failed for hooks after tools', async () => {
    const replaces = hook('afterToolUse', (context) => context.withToolOutput('redacted'))
    const runOptions = { tools: [precheckedTool(() => 'the secret')], hooks: [replaces], permissions: asking }
    expect(resultTexts(await run([calls('Edit'), 'done'], runOptions))).toEqual(['redacted'])
  })

  test('is asked about when hooks have to see results before the record does', async () => {
    const log: string[] = []
    const redacts = new CallableHook(() => {}, { triggers: ['afterToolUse'], onError: 'withhold', id: 'redact' })
    const runOptions = { tools: [precheckedTool(() => 'the secret', log)], hooks: [redacts], permissions: asking }
    const result = await run([calls('Edit'), 'done'], { ...runOptions, canUseTool: approving(log) })
    expect([resultTexts(result), log]).toEqual([['edited'], ['asked', 'ran']])
  })
})

describe('a check', () => {
  test.each<[string, Tool['precheck']]>([
    ['knows nothing', () => undefined],
    [
      'throws',
      () => {
        throw new Error('odd')
      },
    ],
    ['rejects', () => Promise.reject(new Error('odd'))],
    ['gives no text', () => 7 as never],
    ['returns an empty text', () => ''],
  ])('that %s leaves the call to the person', async (_what, precheck) => {
    const log: string[] = []
    const runOptions = { tools: [precheckedTool(precheck, log)], permissions: asking, canUseTool: approving(log) }
    const result = await run([calls('Edit'), 'done'], runOptions)
    expect([resultTexts(result), log]).toEqual([['edited'], ['checked', 'asked', 'ran']])
  })

  test('receives the memos of earlier calls of the message, and its own copy of the input', async () => {
    const seen: unknown[] = []
    const read = tool('Read', () => ({ content: 'text', memo: { file: 'a' } }), { readOnly: true })
    const edit = precheckedTool((input, { memos, callId, toolName }) => {
      seen.push(json({ input, memos, callId, toolName }))
      Object.assign(input, { changed: true })
      return undefined
    })
    const permissions = rules(
      { behavior: 'allow' },
      {
        decide: ({ call }) => (call.name === 'Edit' ? { behavior: 'ask', message: '' } : { behavior: 'allow' }),
      },
    )
    const script = [calls('Read', { name: 'Edit', input: { a: 1 } }), 'done']
    const result = await run(script, {
      tools: [read, edit],
      permissions,
      canUseTool: (_name, input) => (seen.push(input), { behavior: 'allow' }),
    })
    expect(resultTexts(result)).toEqual(['text', 'edited'])
    expect(seen).toEqual([{ input: { a: 1 }, memos: [{ file: 'a' }], callId: 'call_0_1', toolName: 'Edit' }, { a: 1 }])
  })

  test('is made once, also when rules request it themselves', async () => {
    const log: string[] = []
    const decide: Permissions['decide'] = async ({ precheck }) => {
      log.push(String(await precheck?.()))
      return { behavior: 'ask', message: 'well?' }
    }
    const runOptions = {
      tools: [precheckedTool(() => 'no', log)],
      permissions: rules({ behavior: 'allow' }, { decide }),
    }
    expect(resultTexts(await run([calls('Edit'), 'done'], runOptions))).toEqual(['no'])
    expect(log).toEqual(['checked', 'no'])
  })

  test('is not awaited after an abort', async () => {
    const log: string[] = []
    const never = precheckedTool(() => new Promise<never>(() => {}), log)
    const going = begin([calls('Edit')], { tools: [never], permissions: asking, graceMs: 5 })
    await until(() => log.length > 0)
    going.loop.abort()
    expect((await going.end()).terminal.reason).toBe('aborted_tools')
  })
})

test('rules may report that a call fails, and an answer of a person may not', async () => {
  const tools = [precheckedTool(undefined)]
  const failing = rules({ behavior: 'fail', message: 'it cannot' })
  expect(resultTexts(await run([calls('Edit'), 'done'], { tools, permissions: failing }))).toEqual(['it cannot'])
  const answered = await run([calls('Edit'), 'done'], {
    tools,
    permissions: asking,
    canUseTool: () => ({ behavior: 'fail', message: 'no' }) as never,
  })
  expect(answered.terminal.reason).toBe('error')
})

// The answer of a check is on record: a later change of the file does not change it.
test('has the same outcome whenever the process dies', async () => {
  const optionsOf = (log: string[], failure: string | undefined): RunOptions => ({
    model: scriptedModel(({ messages }) => (messages.length < 3 ? calls('Edit') : 'done')),
    tools: [precheckedTool(() => failure, log)],
    permissions: asking,
    onAsk: 'wait',
    canUseTool: approving(log),
    clock: createFakeClock({ autoAdvance: true }),
  })
  for (let count = 1; ; count++) {
    const records = await killedAfter(count, optionsOf([], 'no'))
    if (records.some(({ type }) => type === 'end')) break
    const log: string[] = []
    const { result: terminal } = resume(records, {
      ...optionsOf(log, 'still no'),
      steps: createMemorySteps({ clock: createFakeClock({ autoAdvance: true }) }),
    }).loop
    const isOnRecord = records.some((record) => record.type === 'result' && record.key.includes('permission:'))
    expect([count, (await terminal).reason, log]).toEqual([count, 'completed', isOnRecord ? [] : ['checked']])
  }
})

test('a replay checks nothing', async () => {
  const records: StepRecord[] = []
  const log: string[] = []
  const clock = createFakeClock({ autoAdvance: true })
  const steps = createMemorySteps({ clock, onRecord: (record) => void records.push(record) })
  const runOptions = { tools: [precheckedTool(() => 'no', log)], permissions: asking, clock }
  const { model } = await run([calls('Edit'), 'done'], { ...runOptions, steps })
  const again = await replay(records, { ...runOptions, model })
  expect([again.terminal.reason, log]).toEqual(['completed', ['checked']])
})
