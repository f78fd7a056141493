// Tests R-SEARCH-9: a tool decides which models it is shown to.
import { expect, test } from 'vitest'
import { agentTool, certificate, query, tool, type Model, type RunOptions } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { unknownTool } from '../../src/tool-calls/call-texts.ts'
import { calls, resultTexts, run } from '../support/harness.ts'

const searching = (model: Model): boolean => model.webSearch !== undefined
const look = tool({
  name: 'Look',
  description: '',
  readOnly: true,
  asksModel: true,
  offeredTo: searching,
  execute: () => 'seen',
})
const otherTool = tool({ name: 'Other', description: '', readOnly: true, execute: () => 'seen' })
const webSearchFacts = { webSearch: { domains: 'none' } } as const
const names = (model: { readonly requests: readonly { readonly tools: readonly { readonly name: string }[] }[] }) =>
  model.requests.map(({ tools }) => tools.map(({ name }) => name).join())
// prettier-ignore
const initOf = async (options: RunOptions) => {
  for await (const message of query({ prompt: 'go', options }))
    if (message.type === 'system' && message.subtype === 'init') return message.tools
  return undefined
}

test('a tool is hidden from a model that it rejects, and from all lists of tools', async () => {
  const plain = scriptedModel(['done'])
  await run([], { model: plain, tools: [look, otherTool] })
  expect(names(plain)).toEqual(['Other'])
  expect(await initOf({ model: scriptedModel(['done']), tools: [look, otherTool] })).toEqual(['Other'])
  expect(await initOf({ model: { ...scriptedModel(['done']), ...webSearchFacts }, tools: [look, otherTool] })).toEqual(['Look', 'Other'])
  const noted = (model: Model) => certificate({ model, tools: [look] }).notes.some((note) => note.includes('Look'))
  expect([noted(plain), noted({ ...plain, ...webSearchFacts })]).toEqual([false, true])
}) // prettier-ignore

test('a call of a hidden tool is made anyway: the tool itself checks what it needs', async () => {
  const plain = scriptedModel([calls('Look'), 'done'])
  const { state } = await run([], { model: plain, tools: [look] })
  expect(resultTexts({ state })).toEqual(['seen'])
})

test('a call of an unknown tool is answered with the tools that the model is shown', async () => {
  const { state } = await run([calls('Lok'), 'done'], { tools: [look, otherTool] })
  expect(resultTexts({ state })).toEqual([unknownTool('Lok', ['Other'])])
})

test('the model of a subagent decides which tools it is shown', async () => {
  const agent = scriptedModel(['found'], { id: 'agent' })
  const start = agentTool({ name: 'Start', description: '', models: [{ ...agent, ...webSearchFacts }], spawn: () => ({ prompt: 'x', model: 'agent' }) })
  const plain = scriptedModel([calls('Start'), 'done'])
  await run([], { model: plain, tools: [look, start], maxSubagents: 1 })
  expect([names(plain)[0], names(agent)[0]?.split(',')[0]]).toEqual(['Start', 'Look'])
}) // prettier-ignore

test.each([
  ['throws', () => { throw new Error('no') }],
  ['returns a value other than true', () => 'yes' as never],
])('a tool that %s is shown to nobody', async (_, offeredTo) => {
  const model = scriptedModel(['done'])
  await run([], { model, tools: [{ ...look, offeredTo }, otherTool] })
  expect(names(model)).toEqual(['Other'])
}) // prettier-ignore
