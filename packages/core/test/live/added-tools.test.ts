// Tests R-SET-11 to R-SET-11b, R-SET-2.
import { expect, test } from 'vitest'
import { agentTool, ConfigurationError, resume, type AnyTool } from '../../src/index.ts'
import { createFakeClock, scriptedModel } from '../../src/testing/index.ts'
import { engineOf } from '../support/engine.ts'
import { begin, calls, json, reader, resultTexts } from '../support/harness.ts'

const late = reader('Late', () => 'late answer')
const others: ReadonlyMap<string, AnyTool> = new Map([['Late', late]])
const runOptions = { tools: [reader('Look')], moreTools: (name: string) => others.get(name) }
const names = (requests: readonly { readonly tools?: readonly { readonly name: string }[] }[]) =>
  requests.map(({ tools = [] }) => tools.map(({ name }) => name))

test('tools added during a run are shown from the next request on, and can be called', async () => {
  const going = begin(
    [
      { ...calls('Look'), before: () => going.loop.set({ tools: ['Late', 'Gone', 'Look'] }) },
      calls('Late'),
      { text: 'done' },
    ],
    runOptions,
  )
  const run = await going.end()
  const { model, state, steps } = run
  expect(names(model.requests)).toEqual([['Look'], ['Look', 'Late'], ['Look', 'Late']])
  expect(resultTexts(run)).toContain('late answer')
  expect(state.spent.settings).toEqual({ tools: ['Late', 'Gone', 'Look'] })
  expect(steps.records.some((record) => record.type === 'control' && record.control.settings !== undefined)).toBe(true)
})

test('a shorter list or null removes them, and a call of a removed one gets an error', async () => {
  const going = begin(
    [
      { ...calls('Look'), before: () => going.loop.set({ tools: ['Late'] }) },
      { ...calls('Look'), before: () => going.loop.set({ tools: null }) },
      calls('Late'),
      { text: 'done' },
    ],
    runOptions,
  )
  const run = await going.end()
  const { model } = run
  expect(names(model.requests)).toEqual([['Look'], ['Look', 'Late'], ['Look'], ['Look']])
  expect(resultTexts(run).at(-1)).toBe('There is no tool named "Late". Available tools: Look.')
})

test('a resume knows the added tools from the record', async () => {
  const clock = createFakeClock({ autoAdvance: true })
  const going = begin(
    [{ ...calls('Look'), before: () => going.loop.set({ tools: ['Late'] }) }, calls('Look'), { text: 'done' }],
    { ...runOptions, clock },
  )
  const { steps } = await going.end()
  const set = steps.records.findIndex((record) => record.type === 'control' && record.control.settings !== undefined)
  const first = steps.records.findIndex((record, index) => index > set && record.type === 'lap')
  const cutRecords = steps.records
    .slice(0, first + 1)
    .map((record) => json(record) as unknown as (typeof steps.records)[0])
  const model = scriptedModel([{ text: 'done' }])
  await resume(cutRecords, { ...runOptions, model, clock }).loop.result
  expect(names(model.requests)).toEqual([['Look', 'Late']])
})

test('a subagent has the tools that existed when it started', async () => {
  const tools = [agentTool({ name: 'Agent', description: 'Agent', spawn: () => ({ prompt: 'look' }) }), reader('Look')]
  const going = begin(
    [
      { ...calls('Look'), before: () => going.loop.set({ tools: ['Late'] }) },
      calls('Agent'),
      { text: 'found' },
      { text: 'done' },
    ],
    { ...runOptions, tools },
  )
  const { model } = await going.end()
  expect(names(model.requests)[2]).toEqual(['Agent', 'Look', 'Late'])
})

test('rejects invalid names, invalid tools and tools with another name', async () => {
  const going = begin([{ text: 'done' }], runOptions)
  // Plain JavaScript code can pass any value.
  expect(() => going.loop.set({ tools: 'Late' as unknown as string[] })).toThrow(ConfigurationError)
  expect(() => going.loop.set({ tools: [''] })).toThrow(ConfigurationError)
  await going.end()
  const strange = begin([{ text: 'done' }], { ...runOptions, moreTools: () => late })
  expect(() => strange.loop.set({ tools: ['Other'] })).toThrow('The name of moreTools')
  await strange.end()
})

test('an engine that begins with some lists them in init', async () => {
  const { engine } = engineOf([{ text: 'done' }], runOptions)
  engine.set({ tools: ['Late'] })
  const toolLists: unknown[] = []
  for await (const message of engine.submit('go'))
    if (message.type === 'system' && message.subtype === 'init') toolLists.push(message.tools)
  expect(toolLists).toEqual([['Look', 'Late']])
})
