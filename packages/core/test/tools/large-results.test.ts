// Tests R-TOOL-18: a result over the limit is stored whole, and shown as head, tail and location.
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  AgentStopException,
  createMemorySteps,
  noProgress,
  replay,
  resume,
  type AgentTool,
  type RunOptions,
  type Tool,
} from '../../src/index.ts'
import { largeResultLimit, textOf, type LargeResult, type LargeResults } from '../../src/entries/adapters.ts'
import { createFakeClock, scriptedModel, type ScriptedReply } from '../../src/testing/index.ts'
import type { ContentBlock } from '../../src/model/messages.ts'
import { shortened, wholeTextOf } from '../../src/tools/shortened-result.ts'
import {
  begin,
  calls,
  hook,
  json,
  reader,
  results,
  resultTexts,
  run,
  tool,
  until,
  type Run,
} from '../support/harness.ts'
import { killedAfter } from '../support/kill-process.ts'
import { lostReasons } from '../../src/tools/result-texts.ts'

const lines = (count: number): string => Array.from({ length: count }, (_, index) => `line ${index + 1}\n`).join('')
const long = lines(200)

/** A port that records the results that it received. */
function largeResultStore(more: Partial<LargeResults> = {}) {
  const saved: LargeResult[] = []
  const largeResults: LargeResults = {
    limit: 600,
    save(result) {
      saved.push(result)
      return `/kept/${result.callId}.txt`
    },
    ...more,
  }
  return { saved, largeResults }
}

const textsOf = (ended: Run): readonly string[] => results(ended).map(({ content }) => textOf(content))

describe('a result over the limit', () => {
  test('is stored whole, and shown as head, tail and the location of the whole', async () => {
    const { saved, largeResults } = largeResultStore()
    const ended = await run([calls({ name: 'Look', id: 'c1' }), 'done'], {
      tools: [reader('Look', long)],
      largeResults,
    })
    const [shownText = ''] = textsOf(ended)
    expect(shownText.length).toBeLessThanOrEqual(600)
    const [head = '', note = '', tail = ''] = shownText.split('\n\n').filter((part) => part !== '')
    expect([long.startsWith(`${head}\n`), long.endsWith(`\n${tail}`)]).toEqual([true, true])
    const leftOut = long.length - head.length - 1 - tail.length
    const linesOut = 200 - `${head}\n${tail}`.split('\n').length + 1
    expect(note).toBe(
      `[... ${leftOut} characters (${linesOut} lines) omitted. The complete result (${long.length} characters) is in /kept/c1.txt. ` +
        'Search it, or read the part that you need. ...]',
    )
    expect(saved).toEqual([{ callId: 'c1', toolName: 'Look', text: long, idempotencyKey: 'session/run1/save:1:0:c1' }])
    expect(ended.model.requests[1]?.messages.at(-1)?.content).toEqual(results(ended))
  })

  test('names the call that reads on, which is on record with the name', async () => {
    const readCall = (path: string) => ({ tool: 'Read', input: { file_path: path }, lineField: 'offset' })
    const { largeResults } = largeResultStore({ readCall })
    const script = [calls({ name: 'Look', id: 'c1' }), 'done']
    const ended = await run(script, { tools: [reader('Look', long), reader('Read', '')], largeResults })
    const [shownText = ''] = textsOf(ended)
    const line = shownText.split('\n\n')[0]?.split('\n').length ?? 0
    expect(shownText).toContain(`use Read with {"file_path":"/kept/c1.txt","offset":${line + 1}}.`)
    const save = ended.steps.records.find((record) => 'key' in record && record.key.includes('save:'))
    expect(JSON.stringify(save)).toContain(JSON.stringify(readCall('/kept/c1.txt')))
  })

  test.each<[string, LargeResults['readCall']]>([
    ['throws', () => { throw new Error('bug') }], // prettier-ignore
    ['gives nothing', () => undefined],
    ['returns no input', () => ({ tool: 'Read' }) as never],
    ['returns no tool', () => ({ input: {} }) as never],
    ['names a tool that the model does not have', () => ({ tool: 'Show', input: {} })],
    ['returns an endless input', () => ({ tool: 'Read', input: { file_path: 'x'.repeat(5_000) } })],
  ])('ignores a readCall that %s', async (_what, readCall) => {
    const ended = await run([calls('Look'), 'done'], {
      tools: [reader('Look', long), reader('Read', '')],
      largeResults: largeResultStore({ readCall }).largeResults,
    })
    expect(textsOf(ended)[0]).toContain('.txt. Search it, or read the part that you need. ...]')
  })

  test('of exactly the limit is shown whole, and one more character is too many', async () => {
    const { saved, largeResults } = largeResultStore()
    const tools = [reader('Fits', 'x'.repeat(600)), reader('Over', 'x'.repeat(601))]
    const ended = await run([calls('Fits', 'Over'), 'done'], { tools, largeResults })
    expect([textsOf(ended)[0], saved.map(({ toolName }) => toolName)]).toEqual(['x'.repeat(600), ['Over']])
  })

  test('is shown unchanged when nothing stores it', async () => {
    const ended = await run([calls('Look'), 'done'], { tools: [reader('Look', long)] })
    expect([
      resultTexts(ended),
      ended.steps.records.some((record) => 'key' in record && record.key.includes('save:')),
    ]).toEqual([[long], false])
  })

  test('may be an error, a rejected input, a stop or the answer of a subagent', async () => {
    const { saved, largeResults } = largeResultStore()
    const tools: (Tool | AgentTool)[] = [
      tool('Fail', () => {
        throw new Error(long)
      }),
      { ...tool('Refuse'), validate: () => ({ valid: false, message: long }) },
      {
        name: 'Task',
        description: '',
        inputSchema: { type: 'object' },
        readOnly: true,
        spawn: () => ({ prompt: 'work' }),
      },
      tool('Stop', () => {
        throw new AgentStopException({ message: long })
      }),
    ]
    const script = ({ messages }: { readonly messages: readonly { readonly content: unknown }[] }): ScriptedReply =>
      messages[0]?.content === 'work' ? long : calls('Fail', 'Refuse', 'Task', 'Stop')
    const ended = await run(script, { tools, largeResults })
    expect(saved.map(({ toolName }) => toolName)).toEqual(['Fail', 'Refuse', 'Task', 'Stop'])
    expect(results(ended).map(({ is_error: isError }) => isError ?? false)).toEqual([true, true, false, false])
    for (const shownText of textsOf(ended))
      expect([shownText.length <= 600, shownText.includes('is in /kept/')]).toEqual([true, true])
  })

  test('of a tool that a subagent calls is stored under a separate key', async () => {
    const { saved, largeResults } = largeResultStore()
    const task: AgentTool = {
      name: 'Task',
      description: '',
      inputSchema: { type: 'object' },
      readOnly: true,
      spawn: () => ({ prompt: 'work' }),
    }
    const script = ({ messages }: { readonly messages: readonly { readonly content: unknown }[] }): ScriptedReply =>
      messages.length > 1
        ? 'done'
        : messages[0]?.content === 'work'
          ? calls({ name: 'Look', id: 'c1' })
          : calls({ name: 'Task', id: 'c1' })
    await run(script, { tools: [task, reader('Look', long)], largeResults })
    expect(saved.map(({ idempotencyKey }) => idempotencyKey)).toEqual(['session/run1/agent:1:0:c1/save:1:0:c1'])
  })

  test('keeps its images, at their positions', async () => {
    const { saved, largeResults } = largeResultStore()
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } } as const
    const content: ContentBlock[] = [
      { type: 'text', text: 'first' },
      image,
      { type: 'text', text: long },
      image,
      { type: 'text', text: 'last' },
    ]
    const ended = await run([calls('Look'), 'done'], { tools: [reader('Look', () => ({ content }))], largeResults })
    const [shownText] = results(ended)
    const blocks = shownText?.content as readonly ContentBlock[]
    expect(blocks.map(({ type }) => type)).toEqual(['text', 'image', 'text', 'image', 'text'])
    expect([blocks[0], blocks[1], blocks[3], blocks[4]]).toEqual([content[0], image, image, content[4]])
    expect(saved[0]?.text).toBe(`first\n${long}\nlast`)
    expect(wholeTextOf(blocks).length).toBeLessThanOrEqual(600)
  })

  test('counts as the same result again, whatever its stored name', async () => {
    const { largeResults } = largeResultStore()
    const ended = await run(() => calls('Look'), {
      tools: [reader('Look', long)],
      largeResults,
      stopWhen: noProgress({ repeats: 2 }),
    })
    expect([ended.terminal.reason, new Set(textsOf(ended)).size > 1]).toEqual(['no_progress', true])
  })

  test('with the same head and tail but another middle is another result', async () => {
    const { largeResults } = largeResultStore()
    let count = 0
    const look = reader('Look', () => `${long}${'x'.repeat(++count)}\n${long}`)
    const script = (): ScriptedReply => (count < 8 ? calls('Look') : 'done')
    const ended = await run(script, { tools: [look], largeResults, stopWhen: noProgress({ repeats: 2 }) })
    expect(ended.terminal.reason).toBe('completed')
  })
})

describe('the effect of hooks', () => {
  test('never lets removed text reach the file', async () => {
    const { saved, largeResults } = largeResultStore()
    const redact = hook('afterToolUse', (context) =>
      context.withToolOutput(String(context.toolOutput?.text).replaceAll('line', '****')),
    )
    const seen: number[] = []
    const look = hook('afterToolUse', ({ toolOutput }) => void seen.push(toolOutput?.text.length ?? 0), {
      priority: -1,
    })
    const ended = await run([calls('Look'), 'done'], {
      tools: [reader('Look', () => ({ content: long, details: { raw: long } }))],
      hooks: [redact, look],
      largeResults,
    })
    expect(saved.map(({ text }) => text)).toEqual([long.replaceAll('line', '****')])
    expect(JSON.stringify([...ended.state.transcript])).not.toContain('line 1')
    // They see all of it.
    expect(seen).toEqual([long.length])
  })

  test('stores nothing when a hook makes a result short', async () => {
    const { saved, largeResults } = largeResultStore()
    const shorten = hook('afterToolUse', (context) => context.withToolOutput('short'))
    const ended = await run([calls('Look'), 'done'], { tools: [reader('Look', long)], hooks: [shorten], largeResults })
    expect([resultTexts(ended), saved]).toEqual([['short'], []])
  })

  test('shows onError hooks the whole failure', async () => {
    const received: unknown[] = []
    const { largeResults } = largeResultStore()
    const failing = tool('Fail', () => {
      throw new Error(long)
    })
    const listening = hook('onError', ({ error }) => void received.push(error?.message))
    await run([calls('Fail'), 'done'], { tools: [failing], hooks: [listening], largeResults })
    expect(received).toEqual([long])
  })
})

describe('a failed save', () => {
  test.each<[what: string, save: LargeResults['save'], failure: string]>([
    [
      'throws',
      () => {
        throw new Error('the disk is full.\n')
      },
      'the disk is full',
    ],
    ['rejects', () => Promise.reject(new Error('no folder')), 'no folder'],
    [
      'throws without a message',
      () => {
        throw new Error(' ')
      },
      lostReasons.unknown,
    ],
    ['gives nothing', () => undefined as never, lostReasons.noName],
    ['returns an empty name', () => '', lostReasons.noName],
    ['returns an endless name', () => 'x'.repeat(5_000), lostReasons.noName],
  ])('%s: the result is truncated anyway, with the reason', async (_what, save, failure) => {
    const { largeResults } = largeResultStore({ save })
    const ended = await run([calls('Look'), 'done'], { tools: [reader('Look', long)], largeResults })
    const [shownText = ''] = textsOf(ended)
    expect(shownText).toContain(
      `omitted. They could not be saved: ${failure}. If you need them, request a smaller part. ...]`,
    )
    expect([ended.terminal.reason, shownText.length <= 600, long.startsWith(shownText.slice(0, 50))]).toEqual([
      'completed',
      true,
      true,
    ])
  })

  test('ends with the run when it hangs past an abort, and the next calls do not run', async () => {
    const { largeResults } = largeResultStore({
      save: () => new Promise(() => queueMicrotask(() => going.loop.abort())),
    })
    const going = begin([calls('Look', 'Write')], { tools: [reader('Look', long), tool('Write')], largeResults })
    const ended = await going.end()
    const [shownText = '', other] = textsOf(ended)
    expect([ended.terminal.reason, other]).toEqual(['aborted_tools', 'Interrupted by user'])
    expect([shownText.length <= 600, shownText.includes('They could not be saved: the run was aborted.')]).toEqual([
      true,
      true,
    ])
    expect(ended.steps.records.some((record) => 'key' in record && record.key.includes('tool:1:1:'))).toBe(false)
    // The abort is in the record of the step: it is replayed as it was.
    const again = await replay(json(ended.steps.records) as never, {
      model: ended.model,
      tools: [reader('Look', long), tool('Write')],
    })
    expect(again.terminal.reason).toBe('aborted_tools')
  })

  test('is notified that the run is aborted', async () => {
    let isNotified = false
    const { largeResults } = largeResultStore({
      save: (_result, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            isNotified = true
            reject(new Error('cut'))
          })
          queueMicrotask(() => going.loop.abort())
        }),
    })
    const going = begin([calls('Look')], { tools: [reader('Look', long)], largeResults })
    const ended = await going.end()
    expect([isNotified, textsOf(ended)[0]?.includes(`could not be saved: ${lostReasons.aborted}`)]).toEqual([
      true,
      true,
    ])
  })

  test('is not attempted after an abort', async () => {
    const { saved, largeResults } = largeResultStore()
    const look = tool('Look', () => {
      going.loop.abort()
      return long
    })
    const going = begin([calls('Look')], { tools: [look], largeResults })
    const ended = await going.end()
    expect([saved, textsOf(ended)[0]?.includes(`could not be saved: ${lostReasons.aborted}`)]).toEqual([[], true])
  })

  test('nor for an early start whose message was aborted', async () => {
    const { saved, largeResults } = largeResultStore()
    const going = begin(
      [
        {
          ...calls('Look'),
          before: async () => {
            await until(() => started)
            going.loop.abort()
            throw new Error('cut')
          },
        },
      ],
      { tools: [reader('Look', () => ((started = true), long))], largeResults },
    )
    let started = false
    const ended = await going.end()
    const [shownText = ''] = textsOf(ended)
    expect([saved, shownText.length <= 600, shownText.includes(`could not be saved: ${lostReasons.aborted}`)]).toEqual([
      [],
      true,
      true,
    ])
  })
})

test('keeps the shown result within the limit when the run breaks before the save', async () => {
  const { largeResults } = largeResultStore()
  const going = begin([calls('Look')], {
    tools: [reader('Look', long)],
    hooks: [hook('afterToolUse', (context) => context.withToolOutput(`${context.toolOutput?.text}redacted`))],
    largeResults,
    ...failingAt('save:'),
  })
  const ended = await going.end()
  const [shownText = ''] = textsOf(ended)
  expect(ended.terminal.reason).toBe('error')
  expect([
    shownText.length <= 600,
    shownText.includes(`could not be saved: ${lostReasons.failed}`),
    shownText.endsWith('redacted'),
  ]).toEqual([true, true, true])
})

test('keeps the shown result of an ended call within the limit when the run breaks during other results', async () => {
  const { largeResults } = largeResultStore()
  const going = begin([calls('First', 'Second')], {
    tools: [reader('First', 'short'), reader('Second', long)],
    hooks: [hook('afterToolUse', () => {}, { tools: ['First'] })],
    largeResults,
    ...failingAt('hook:'),
  })
  const [, shownText = ''] = textsOf(await going.end())
  expect([shownText.length <= 600, shownText.includes(`could not be saved: ${lostReasons.failed}`)]).toEqual([
    true,
    true,
  ])
})

/** A step engine that cannot write the records of steps with this name. */
const failingAt = (name: string) => ({
  steps: createMemorySteps({
    onRecord: (record) => {
      if ('key' in record && record.key.includes(name)) throw new Error('disk')
    },
  }),
})

describe('a process that dies', () => {
  const script = ({ messages }: { readonly messages: readonly { readonly role: string }[] }): ScriptedReply => {
    const turn = messages.filter(({ role }) => role === 'assistant').length
    const ids = ['Look', 'Look', 'Write'].map((name, index) => ({ name, id: `c${turn}${index}` }))
    return turn < 2 ? calls(...ids) : 'done'
  }
  function world(files = new Map<string, string>()) {
    const largeResults: LargeResults = {
      limit: 600,
      async save({ idempotencyKey, text }) {
        await Promise.resolve()
        const before = files.get(idempotencyKey)
        if (before !== undefined && before !== text) throw new Error('another text under one key')
        files.set(idempotencyKey, text)
        return `/kept/${idempotencyKey}`
      },
    }
    const options = (more: Partial<RunOptions> = {}): RunOptions => ({
      model: scriptedModel(script),
      clock: createFakeClock({ autoAdvance: true }),
      tools: [reader('Look', long), tool('Write', long, { onUnknownOutcome: 'rerun' })],
      hooks: [hook('afterToolUse', (context) => context.withToolOutput(`seen\n${context.toolOutput?.text}`))],
      largeResults,
      ...more,
    })
    return { options, files }
  }

  test('between any two records: the same files, and the same transcript', async () => {
    const { options, files } = world()
    const completeRun = await run(script, options() as never)
    const total = completeRun.steps.records.length
    expect([files.size, total > 25]).toEqual([6, true])
    for (let count = 1; count < total; count++) {
      const second = world()
      const records = await killedAfter(count, second.options())
      const { state } = await resume(records, second.options()).loop.ended
      expect([count, state.transcript.messages()]).toEqual([count, completeRun.messages])
      expect([count, second.files]).toEqual([count, files])
    }
  })

  test('and resumes under another limit, or without the port: recorded results are shown unchanged', async () => {
    const { options } = world()
    const completeRun = await run(script, options() as never)
    const ofTurn = completeRun.steps.records.findIndex((record) => record.type === 'lap')
    const records = await killedAfter(ofTurn, options())
    for (const more of [{ largeResults: { limit: 100, save: () => 'elsewhere' } }, {}] as const) {
      const { largeResults: _, ...bare } = options()
      const { state } = await resume(records, { ...bare, ...more }).loop.ended
      const [first] = results({ state })
      expect(first?.content).toEqual(results(completeRun)[0]?.content)
    }
  })

  test('and resumes with a port where there was none: a passed result is shown whole', async () => {
    const { options } = world()
    const { largeResults: _, ...bare } = options()
    const completeRun = await run(script, bare as never)
    const ofTurn = completeRun.steps.records.findIndex((record) => 'key' in record && record.key.includes('tool:1:2'))
    const records = await killedAfter(ofTurn + 1, bare)
    const { state } = await resume(records, options()).loop.ended
    const [first, , third] = results({ state })
    expect([first?.content, textOf(third?.content ?? '').length <= 600]).toEqual([`seen\n${long}`, true])
  })
})

describe('the limit', () => {
  test('is half a character for each token of the window, at most 50,000', () => {
    expect([1_000, 30_000, 100_000, 200_000, 1_000_000].map(largeResultLimit)).toEqual([
      500, 15_000, 50_000, 50_000, 50_000,
    ])
  })

  test('is that of the model by default', async () => {
    const { saved, largeResults } = largeResultStore()
    const { limit: _, ...port } = largeResults
    const model = scriptedModel([calls('Fits', 'Over'), 'done'], { contextWindow: 30_000 })
    const tools = [reader('Fits', 'x'.repeat(15_000)), reader('Over', 'x'.repeat(100_000))]
    const ended = await run([], { model, tools, largeResults: port })
    const [fits = '', over = ''] = textsOf(ended)
    expect([saved.map(({ toolName }) => toolName), fits.length, over.length > 14_900, over.length <= 15_000]).toEqual([
      ['Over'],
      15_000,
      true,
      true,
    ])
  })

  test('follows the window that the options set', async () => {
    const { saved, largeResults } = largeResultStore()
    const { limit: _, ...port } = largeResults
    const tools = [reader('Fits', 'x'.repeat(2_000)), reader('Over', 'x'.repeat(2_001))]
    await run([calls('Fits', 'Over'), 'done'], { tools, largeResults: port, contextWindow: 4_000 })
    expect(saved.map(({ toolName }) => toolName)).toEqual(['Over'])
  })

  test.each([0, -1, Number.NaN, '5'])('of %s is a configuration error', (limit) => {
    const { largeResults } = largeResultStore({ limit: limit as number })
    expect(() => begin([], { largeResults })).toThrow('largeResults.limit must be a number above 0')
  })
})

describe('the shown result', () => {
  const anyText = fc.oneof(
    fc.string({ unit: 'grapheme-composite', maxLength: 3_000 }),
    fc.array(fc.string({ unit: 'grapheme', maxLength: 60 }), { maxLength: 100 }).map((parts) => parts.join('\n')),
    fc.array(fc.constantFrom('😀', '\n', 'a', '\r\n'), { maxLength: 3_000 }).map((parts) => parts.join('')),
    // Cut at a place without a line end.
    fc.array(fc.constantFrom('😀', 'a'), { minLength: 500, maxLength: 3_000 }).map((parts) => parts.join('')),
  )
  const whole = { savedAs: '/a/path.txt' } as const
  const longestNote = 250

  test('is within the limit, head a prefix, tail a suffix, code points whole, and deterministic', () => {
    fc.assert(
      fc.property(anyText, fc.integer({ min: 1, max: 2_500 }), (text, limit) => {
        const shownText = shortened(text, limit, whole) as string
        expect(shortened(text, limit, whole)).toBe(shownText)
        fc.pre(text.length > limit)
        expect(shownText.length).toBeLessThanOrEqual(Math.max(limit, longestNote))
        expect(shownText).not.toMatch(/\p{Surrogate}/u)
        const {
          head = '',
          leftOut,
          tail = '',
        } = /^(?<head>[^]*?)\n{0,2}\[\.\.\. (?<leftOut>\d+) characters[^]*?\.\.\.\](?:\n\n)?(?<tail>[^]*)$/.exec(
          shownText,
        )?.groups ?? {}
        expect([text.startsWith(head), text.endsWith(tail)]).toEqual([true, true])
        // The line ends before the note may belong to the head.
        expect(text.length - head.length - tail.length - Number(leftOut)).toBeOneOf([0, 1, 2])
      }),
      { numRuns: 500 },
    )
  })

  test('is complete up to the limit', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(shortened(text, text.length, whole)).toBe(text)
      }),
    )
  })

  test('keeps blocks other than text', () => {
    const image: ContentBlock = { type: 'image', source: { type: 'url', url: 'http://127.0.0.1/' } }
    const anyBlock = fc.oneof(
      {
        weight: 3,
        arbitrary: anyText.filter((text) => text !== '').map((text): ContentBlock => ({ type: 'text', text })),
      },
      { weight: 1, arbitrary: fc.constant(image) },
    )
    fc.assert(
      fc.property(fc.array(anyBlock, { maxLength: 8 }), fc.integer({ min: 1, max: 5_000 }), (blocks, limit) => {
        const shownText = shortened(blocks, limit, whole) as readonly ContentBlock[]
        const text = wholeTextOf(blocks)
        fc.pre(text.length > limit)
        const wholeText = wholeTextOf(shownText)
        expect(wholeText.length).toBeLessThanOrEqual(Math.max(limit, longestNote))
        expect(wholeText).not.toMatch(/\p{Surrogate}/u)
        expect(wholeText.split('omitted.').length).toBe(2)
        expect(shownText.filter(({ type }) => type === 'image').length).toBe(
          blocks.filter(({ type }) => type === 'image').length,
        )
        expect(shownText.every((block) => !('text' in block) || block.text !== '')).toBe(true)
      }),
      { numRuns: 500 },
    )
  })
})

describe('a result whose tool stored the whole elsewhere', () => {
  const spooling = (content = 'head\ntail'): Tool => ({
    ...tool('Look', () => ({ content, spooled: '/spool/1' })),
    onUnknownOutcome: 'rerun',
  })

  test('is passed on with that location, however short it is, and names it', async () => {
    const { saved, largeResults } = largeResultStore()
    const ended = await run([calls({ name: 'Look', id: 'c1' }), 'done'], { tools: [spooling()], largeResults })
    expect(saved).toEqual([expect.objectContaining({ callId: 'c1', text: 'head\ntail', spooled: '/spool/1' })])
    expect(textsOf(ended)).toEqual([
      'head\ntail\n[The complete output is in /kept/c1.txt. Search it, or read the part that you need.]',
    ])
    expect(JSON.stringify(ended.state.transcript.messages())).not.toContain('/spool')
  })

  test('is also shortened when it is over the limit', async () => {
    const { largeResults } = largeResultStore()
    const [shownText = ''] = textsOf(await run([calls('Look'), 'done'], { tools: [spooling(long)], largeResults }))
    expect(shownText.length).toBeLessThanOrEqual(600)
    expect(shownText).toMatch(/The complete result is in \/kept\//)
  })

  test('is not passed on when a hook replaced the result', async () => {
    const { saved, largeResults } = largeResultStore()
    const replaces = hook('afterToolUse', (context) => context.withToolOutput('redacted'))
    const ended = await run([calls('Look'), 'done'], { tools: [spooling()], largeResults, hooks: [replaces] })
    expect([textsOf(ended), saved]).toEqual([['redacted'], []])
  })

  test('reports why the rest was not stored, and is unchanged when nothing stores results', async () => {
    const lost = largeResultStore({ save: () => Promise.reject(new Error('the disk is full')) })
    const ended = await run([calls('Look'), 'done'], { tools: [spooling()], largeResults: lost.largeResults })
    expect(textsOf(ended)).toEqual(['head\ntail\n[The omitted part could not be saved: the disk is full.]'])
    expect(textsOf(await run([calls('Look'), 'done'], { tools: [spooling()] }))).toEqual(['head\ntail'])
  })
})
