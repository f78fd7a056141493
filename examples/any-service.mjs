// examples/any-service.mjs
import { createServer } from 'node:http'
import { query } from '@halting/core'
import { createPrices, openaiCompatible } from '@halting/models'

// A stand-in for vLLM, Ollama, OpenRouter or any other service that speaks chat completions.
const chunks = [
  { id: 'c1', model: 'tiny', choices: [{ index: 0, delta: { content: 'Four.' } }] },
  { id: 'c1', model: 'tiny', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
  { id: 'c1', model: 'tiny', choices: [], usage: { prompt_tokens: 20, completion_tokens: 2, total_tokens: 22 } },
]
const service = createServer((_request, response) => {
  response.setHeader('content-type', 'text/event-stream')
  response.end([...chunks.map((chunk) => JSON.stringify(chunk)), '[DONE]'].map((data) => `data: ${data}\n\n`).join(''))
})
await new Promise((resolve) => service.listen(0, '127.0.0.1', resolve))

const model = openaiCompatible({ model: 'tiny', baseUrl: `http://127.0.0.1:${service.address().port}/v1` })
// The model is in no price list. Without a price, no dollar budget is possible.
const prices = createPrices({ tiny: { input: 0.5, output: 1 } })

for await (const message of query({ prompt: 'Two and two?', options: { model, prices, maxBudgetUsd: 0.05 } })) {
  if (message.type === 'result') console.log(`${message.result} ${(message.total_cost_usd * 1e6).toFixed(0)} µ$`)
}
service.close()
