import { MockLanguageModelV4 } from 'ai/test'
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { packingAdvice } from './weather-agent.ts'

const usage = {
  inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 5, text: 5, reasoning: 0 },
}
const looks = {
  content: [{ type: 'tool-call' as const, toolCallId: 'c1', toolName: 'weather', input: '{"city":"Bonn"}' }],
  finishReason: { unified: 'tool-calls' as const, raw: 'tool_use' },
  usage,
  warnings: [],
}
const answers = {
  content: [{ type: 'text' as const, text: 'Take an umbrella.' }],
  finishReason: { unified: 'stop' as const, raw: 'end_turn' },
  usage,
  warnings: [],
}

test('looks at the weather before it answers', async () => {
  const model = new MockLanguageModelV4({ doGenerate: [looks, answers] })
  const { text, steps, finishReason } = await packingAdvice('Bonn', model)
  equal(finishReason, 'stop')
  deepEqual(
    steps.flatMap(({ toolCalls }) => toolCalls.map(({ toolName, input }) => [toolName, input])),
    [['weather', { city: 'Bonn' }]],
  )
  equal(text, 'Take an umbrella.')
})

test('gives up when the model asks for the weather again and again', async () => {
  const again = new MockLanguageModelV4({ doGenerate: async () => looks })
  const { finishReason, steps } = await packingAdvice('Bonn', again)
  deepEqual([finishReason, steps.length], ['tool-calls', 5])
})
