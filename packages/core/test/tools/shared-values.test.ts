// Tests R-TOOL-15, R-HOOK-1, R-RES-7: one part of a run cannot change the values of another.
import { describe, expect, test } from 'vitest'
import {
  replay,
  type ContentBlock,
  type HookContext,
  type Json,
  type RunOptions,
  type Model,
  type StepRecord,
} from '../../src/index.ts'
import { type ToolUseBlock } from '../../src/entries/adapters.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import {
  begin,
  calls,
  hook,
  json,
  reader,
  results,
  run,
  tick,
  tool,
  until,
  type RunTestOptions,
  type RunningRun,
  type Run,
  isLive,
} from '../support/harness.ts'

const input = () => ({ path: 'a.txt', edits: [{ from: 'a', to: 'b' }] })
const script = () => [calls({ name: 'Edit', id: 'c1', input: input() }), 'done']

/** Changes everything it can reach in an input; a frozen one stays unchanged. */
function mutate(value: unknown): void {
  const fields = value as { path?: unknown; more?: unknown; edits?: { to?: unknown }[] }
  for (const change of [
    () => (fields.path = 'spoilt'),
    () => (fields.more = 'spoilt'),
    () => delete fields.path,
    () => (fields.edits![0]!.to = 'spoilt'),
    () => fields.edits!.push({}),
  ]) {
    try {
      change()
    } catch {
      // It was frozen, which is fine.
    }
  }
}

const calledInput = ({ state }: Pick<Run, 'state'>): unknown => {
  for (const entry of state.transcript)
    if (entry.kind === 'assistant')
      for (const block of entry.message.content) if (block.type === 'tool_use') return block.input
  return undefined
}

/** The same run, replayed from its record. */
async function expectReplays(whole: Run, overrides: RunTestOptions): Promise<void> {
  const records = whole.steps.records.map((record) => json(record) as unknown as StepRecord)
  const options: RunOptions = { ...overrides, model: scriptedModel([]) }
  const { events, terminal } = await replay(records, options)
  const live = whole.events.filter((event) => !isLive(event))
  expect([json(events), json(terminal)]).toEqual([json(live), json(whole.terminal)])
}

describe('the input of a call on the transcript is not changed', () => {
  const spoiling: readonly (readonly [string, RunTestOptions])[] = [
    ['a tool', { tools: [tool('Edit', (input) => (mutate(input), 'x'))] }],
    ['a tool that ends later', { tools: [tool('Edit', async (input) => (await tick(), mutate(input), 'x'))] }],
    ['a tool that starts early', { tools: [reader('Edit', (input) => (mutate(input), 'x'))] }],
    [
      "a tool's own check",
      {
        tools: [
          { ...tool('Edit'), validate: (input: unknown) => (mutate(input), { valid: true, input: input as never }) },
        ],
      },
    ],
    ["a tool's predicate", { tools: [{ ...tool('Edit'), readOnly: (input: unknown) => (mutate(input), true) }] }],
    [
      'a permission rule',
      {
        tools: [tool('Edit')],
        permissions: {
          denies: ({ call }) => (mutate(call.input), undefined),
          decide: ({ call }) => (mutate(call.input), { behavior: 'allow' }),
        },
      },
    ],
    [
      'a hook',
      {
        tools: [tool('Edit')],
        hooks: [hook(['beforeToolUse', 'afterToolUse'], ({ toolCall }) => mutate(toolCall?.input))],
      },
    ],
    [
      'a hook, through the messages',
      {
        tools: [tool('Edit')],
        hooks: [
          hook('afterStep', (context) => {
            for (const entry of context.state().transcript)
              if (entry.kind === 'assistant') mutate((entry.message.content[0] as ToolUseBlock).input)
          }),
        ],
      },
    ],
  ]
  test.each(spoiling)('by %s', async (_who, overrides) => {
    const result = await run(script(), overrides)
    expect([result.terminal.reason, calledInput(result)]).toEqual(['completed', input()])
    await expectReplays(result, overrides)
  })

  test('by a listener', async () => {
    const going = begin(script(), { tools: [tool('Edit')] })
    const hears = (async () => {
      for (;;) {
        await Promise.resolve()
        for (const event of going.events) {
          if (event.type === 'tool_start') mutate(event.input)
          if (event.type === 'model_update' && event.update.type === 'block')
            mutate((event.update.block as ToolUseBlock).input)
          if (event.type === 'message' && event.entry.kind === 'assistant')
            for (const block of event.entry.message.content) mutate((block as ToolUseBlock).input)
          if (event.type === 'run_end') return
        }
      }
    })()
    const result = await going.end()
    await hears
    expect([result.terminal.reason, calledInput(result)]).toEqual(['completed', input()])
  })

  test('by the model that returned it', async () => {
    const shared = input()
    const result = await run([calls({ name: 'Edit', input: shared }), 'done'], {
      tools: [tool('Edit', () => (mutate(shared), 'x'))],
    })
    expect(calledInput(result)).toEqual(input())
  })

  test('by a model that emitted a call before its reply was aborted', async () => {
    const shared = input()
    const model: Model = {
      ...scriptedModel([]),
      call(_request, call) {
        call.emit({
          type: 'block',
          index: 0,
          block: { type: 'tool_use', id: 'c1', name: 'Edit', input: shared },
          messageId: 'm',
        })
        going.loop.abort()
        mutate(shared)
        return Promise.reject(call.signal.reason as Error)
      },
    }
    const going: RunningRun = begin([], { model, tools: [tool('Edit')] })
    const result = await going.end()
    expect([result.terminal.reason, calledInput(result)]).toEqual(['aborted_streaming', input()])
  })

  test('although a tool may change its own copy', async () => {
    const seen: unknown[] = []
    const edit = tool('Edit', (input) => {
      input['path'] = `${String(input['path'])}.bak`
      ;(input['edits'] as object[]).push({ from: 'c', to: 'd' })
      seen.push(input)
      return 'x'
    })
    await run([calls({ name: 'Edit', input: input() }), calls({ name: 'Edit', input: input() }), 'done'], {
      tools: [edit],
    })
    const changed = { path: 'a.txt.bak', edits: [...input().edits, { from: 'c', to: 'd' }] }
    expect(seen).toEqual([changed, changed])
  })

  test('and the hooks after it receive the original input', async () => {
    const seen: unknown[] = []
    await run(script(), {
      tools: [tool('Edit', (input) => (mutate(input), 'x'))],
      hooks: [hook('afterToolUse', ({ toolCall }) => void seen.push(json(toolCall?.input)))],
    })
    expect(seen).toEqual([input()])
  })

  test('nor is one that a hook replaced', async () => {
    const sharedInput = { path: 'hook.txt', edits: [{ from: 'a', to: 'b' }] }
    const seen: unknown[] = []
    const runOptions: RunTestOptions = {
      tools: [tool('Edit', (value) => (seen.push(json(value)), mutate(value), mutate(sharedInput), 'x'))],
      hooks: [
        hook('beforeToolUse', (context: HookContext) => context.withToolInput(sharedInput)),
        hook('afterToolUse', ({ toolCall }) => void seen.push(json(toolCall?.input))),
      ],
    }
    const result = await run(script(), runOptions)
    const asked = { path: 'hook.txt', edits: [{ from: 'a', to: 'b' }] }
    expect(seen).toEqual([asked, asked])
    await expectReplays(result, runOptions)
  })
})

describe('a returned value is not changed', () => {
  test('by a tool that later changes its blocks and details', async () => {
    const blocks = [{ type: 'text', text: 'seen' }] as { type: 'text'; text: string }[]
    const details: { lines: number; parts: Json[] } = { lines: 1, parts: [] }
    const change = (): void => {
      blocks[0]!.text = 'spoilt'
      blocks.push({ type: 'text', text: 'spoilt' })
      details.lines = 2
      details.parts.push('spoilt')
    }
    const runOptions: RunTestOptions = {
      tools: [tool('Look', () => ({ content: blocks, details })), tool('Other', () => (change(), 'x'))],
    }
    const result = await run([calls('Look', 'Other'), 'done'], runOptions)
    expect([results(result)[0]?.content, result.state.transcript.at(2)]).toMatchObject([
      [{ type: 'text', text: 'seen' }],
      { details: { call_0_0: { lines: 1, parts: [] } } },
    ])
    await expectReplays(result, runOptions)
  })

  test('by a hook: messages, metadata', async () => {
    const content = [{ type: 'text', text: 'a note' }] as { type: 'text'; text: string }[]
    const kept: { n: number } = { n: 1 }
    const runOptions: RunTestOptions = {
      tools: [tool('Look')],
      hooks: [
        hook('beforeStep', (context) =>
          context.withState(context.state().withUserMessage(content).withMetadata('kept', kept)),
        ),
        hook('afterStep', () => {
          content[0]!.text = 'spoilt'
          kept.n = 2
        }),
      ],
    }
    const result = await run([calls('Look'), 'done'], runOptions)
    const notes = [...result.state.transcript].flatMap((entry) =>
      entry.kind === 'user' && entry.origin === 'hook' ? [entry.message.content] : [],
    )
    const outcomes = result.events.flatMap((event) => (event.type === 'hook_end' ? [event.outcome] : []))
    expect([notes[0], outcomes[0]]).toEqual([
      [{ type: 'text', text: 'a note' }],
      { messages: [[{ type: 'text', text: 'a note' }]], metadata: { kept: { n: 1 } } },
    ])
    await expectReplays(result, runOptions)
  })

  test('by a hook that keeps the state it returned', async () => {
    let metadata: { [key: string]: Json } = {}
    const result = await run([calls('Look'), 'done'], {
      tools: [tool('Look', () => ((metadata['kept'] = 'spoilt'), 'x'))],
      hooks: [
        hook('beforeExecution', (context) => {
          const state = context.state().withMetadata('kept', 1)
          // Types do not stop plain JavaScript code.
          metadata = state.metadata as { [key: string]: Json }
          return context.withState(state)
        }),
      ],
    })
    expect(result.state.spent.metadata).toEqual({ kept: 1 })
  })

  test('by a person: a prompt, a queued message', async () => {
    const prompt: ContentBlock[] = [{ type: 'text', text: 'go' }]
    const steered: ContentBlock[] = [{ type: 'text', text: 'this way' }]
    const spoilt: ContentBlock = { type: 'text', text: 'spoilt' }
    const going = begin(
      [calls('Look'), 'done'],
      { tools: [tool('Look', () => (prompt.push(spoilt), steered.push(spoilt), 'x'))] },
      { prompt },
    )
    going.loop.steer(steered)
    await until(() => going.events.some(({ type }) => type === 'run_end'))
    const { state } = await going.end()
    const texts = [...state.transcript].flatMap((entry) =>
      entry.kind === 'user' && (entry.origin === 'prompt' || entry.origin === 'steer') ? [entry.message.content] : [],
    )
    expect(texts).toEqual([[{ type: 'text', text: 'go' }], [{ type: 'text', text: 'this way' }]])
  })
})
