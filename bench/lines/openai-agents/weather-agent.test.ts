import { MaxTurnsExceededError, Usage, type Model, type ModelResponse } from '@openai/agents'
import { deepEqual, equal, rejects } from 'node:assert/strict'
import { test } from 'node:test'
import { packingAdvice } from './weather-agent.ts'

const usage = new Usage({ inputTokens: 10, outputTokens: 5, totalTokens: 15 })
const looks: ModelResponse = {
  usage,
  output: [{ type: 'function_call', callId: 'c1', name: 'weather', arguments: '{"city":"Bonn"}', status: 'completed' }],
}
const answers: ModelResponse = {
  usage,
  output: [
    { type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: 'Take an umbrella.' }] },
  ],
}

class ScriptedModel implements Model {
  #index = 0
  readonly #script: readonly ModelResponse[]

  constructor(script: readonly ModelResponse[]) {
    this.#script = script
  }

  async getResponse(): Promise<ModelResponse> {
    const reply = this.#script[Math.min(this.#index++, this.#script.length - 1)]
    if (reply === undefined) throw new Error('The script has no reply.')
    return reply
  }

  getStreamedResponse(): never {
    throw new Error('This model does not stream.')
  }
}

test('looks at the weather before it answers', async () => {
  const { finalOutput, newItems } = await packingAdvice('Bonn', new ScriptedModel([looks, answers]))
  const calls = newItems.flatMap(({ rawItem }) =>
    rawItem?.type === 'function_call' ? [[rawItem.name, JSON.parse(rawItem.arguments)]] : [],
  )
  deepEqual(calls, [['weather', { city: 'Bonn' }]])
  equal(finalOutput, 'Take an umbrella.')
})

test('gives up when the model asks for the weather again and again', async () => {
  await rejects(packingAdvice('Bonn', new ScriptedModel([looks])), MaxTurnsExceededError)
})
