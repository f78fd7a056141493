// Tests R-HOOK-17, R-HOOK-17a and R-HOOK-17b: a redacting hook that fails lets nothing through, and the record contains what the model was shown.
import { describe, expect, test } from 'vitest'
import {
  AgentStopException,
  CallableHook,
  replay,
  resume,
  type HookContext,
  type RunEvent,
  type RunOptions,
} from '../../src/index.ts'
import { withheldByHook } from '../../src/tools/result-texts.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { calls, hook, isLive, json, reader, resultTexts, run, tool, type Run } from '../support/harness.ts'

type Handle = (context: HookContext) => HookContext | void | Promise<HookContext | void>

const withholdingHook = (
  handle: Handle,
  more: { readonly tools?: readonly string[]; readonly id?: string } = {},
): CallableHook => new CallableHook(handle, { triggers: ['afterToolUse'], onError: 'withhold', id: 'redact', ...more })
const secret = (name = 'Secret') => tool(name, () => ({ content: 'the secret', details: { raw: 'the secret' } }))
const failing = (context: HookContext): never => {
  throw new Error(`cannot read ${String(context.toolOutput?.text)}`)
}
const everything = ({ events, state, steps, model, terminal }: Run): string =>
  JSON.stringify([events.filter((event) => !isLive(event)), state.transcript, steps.records, model.requests, terminal])

describe('a redacting hook that fails', () => {
  test.each<[how: string, handle: Handle]>([
    ['throws', failing],
    ['rejects', async (context) => failing(context)],
    // Plain JavaScript code can return any value.
    ['returns no context', () => 'the secret' as never],
  ])('that %s withholds the result everywhere', async (_how, handle) => {
    const seen: unknown[] = []
    const ended = await run([calls('Secret'), 'done'], {
      tools: [secret()],
      hooks: [
        withholdingHook(handle),
        hook('afterToolUse', ({ toolOutput }) => void seen.push(toolOutput?.text)),
        hook('onError', ({ error }) => void seen.push(error?.message)),
      ],
      errorPolicy({ message }) {
        seen.push(message)
        return false
      },
    })
    expect(ended.terminal.reason).toBe('completed')
    expect(resultTexts(ended)).toEqual([withheldByHook])
    expect(seen).toContain(withheldByHook)
    expect(everything(ended)).not.toContain('the secret')
    expect(JSON.stringify(seen)).not.toContain('the secret')
  })

  test('raises the signal of a stop that it throws, and withholds the result', async () => {
    const stops = withholdingHook(() => {
      throw new AgentStopException({ message: 'enough' })
    })
    const ended = await run([calls('Secret')], { tools: [secret()], hooks: [stops] })
    expect(ended.terminal.reason).not.toBe('completed')
    expect(resultTexts(ended)).toEqual([withheldByHook])
    expect(everything(ended)).not.toContain('the secret')
  })

  test('decides nothing without onError', async () => {
    const open = new CallableHook(failing, { triggers: ['afterToolUse'] })
    expect(resultTexts(await run([calls('Secret'), 'done'], { tools: [secret()], hooks: [open] }))).toEqual([
      'the secret',
    ])
  })
})

describe('the record', () => {
  const redacts: Handle = (context) =>
    context.withToolOutput(String(context.toolOutput?.text).replaceAll('secret', '***'))

  test('contains the result after the hook, and a replay is the same', async () => {
    const options = { tools: [secret()], hooks: [withholdingHook(redacts)] }
    const ended = await run([calls('Secret'), 'done'], options)
    expect(resultTexts(ended)).toEqual(['the ***'])
    expect(everything(ended)).not.toContain('the secret')
    await expectSameReplay(ended, options)
  })

  test('contains an approved result once every hook has seen it, with its blocks and details', async () => {
    const content = [{ type: 'text', text: 'plain' }] as const
    const options = {
      tools: [tool('Plain', () => ({ content, details: { lines: 1 } })), reader('Look', 'seen')],
      hooks: [withholdingHook(() => {}, { tools: ['Plain'] })],
    }
    const ended = await run([calls('Plain', 'Look'), 'done'], options)
    expect(ended.messages[2]?.content).toMatchObject([{ content }, { content: 'seen' }])
    expect(ended.state.transcript.at(2)).toMatchObject({ details: { call_0_0: { lines: 1 } } })
    const keys = ended.steps.records.flatMap((record) => (record.type === 'result' ? [record.key] : []))
    expect(keys.filter((key) => key.includes('shown:'))).toHaveLength(1)
    await expectSameReplay(ended, options)
  })

  test('withholds the result of a process that died before the hooks were called', async () => {
    const options = { tools: [secret()], hooks: [withholdingHook(() => {})] }
    const { steps } = await run([calls('Secret'), 'done'], options)
    const cut = steps.records.findIndex((record) => record.type === 'result' && record.key.includes('/tool:'))
    expect(cut).toBeGreaterThan(0)
    const resumed = resume(steps.records.slice(0, cut + 1), { ...options, model: scriptedModel(() => 'done') })
    expect((await resumed.loop.result).reason).toBe('completed')
    expect(JSON.stringify((await resumed.loop.ended).state.transcript)).toContain(
      'its result is withheld: the run lost its process',
    )
  })

  test.each(['redacted', 'passed'] as const)(
    'that was interrupted after a result was %s completes a resume',
    async (how) => {
      let called = 0
      const options = {
        tools: [tool('Secret', () => `the secret ${++called}`)],
        hooks: [withholdingHook(how === 'redacted' ? redacts : () => {})],
      }
      const completeRun = await run([calls('Secret'), 'done'], options)
      const last = how === 'redacted' ? '/hook:afterToolUse' : '/shown:'
      const cut = completeRun.steps.records.findIndex((record) => record.type === 'result' && record.key.includes(last))
      expect(cut).toBeGreaterThan(0)
      const records = completeRun.steps.records.slice(0, cut + 1)
      const resumed = resume(records, { ...options, model: scriptedModel(() => 'done') })
      expect((await resumed.loop.result).reason).toBe('completed')
      expect(called).toBe(1)
      const texts = JSON.stringify((await resumed.loop.ended).state.transcript)
      expect(texts).toContain(how === 'redacted' ? 'the *** 1' : 'the secret 1')
    },
  )
})

test('onError accepts one value, and needs a trigger that has a result', () => {
  expect(() => new CallableHook(() => {}, { triggers: ['beforeStep'], onError: 'withhold' })).toThrow('afterToolUse')
  expect(() => new CallableHook(() => {}, { triggers: ['afterToolUse'], onError: 'hide' as never })).toThrow('withhold')
})

async function expectSameReplay(ended: Run, options: Partial<RunOptions>): Promise<void> {
  const again = await replay(ended.steps.records, { ...options, model: ended.model })
  const recordedEvents = (events: readonly RunEvent[]): unknown => json(events.filter((event) => !isLive(event)))
  expect(recordedEvents(again.events)).toEqual(recordedEvents(ended.events))
  expect(json(again.terminal)).toEqual(json(ended.terminal))
}
