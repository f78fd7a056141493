// examples/first-program.mjs
import { query } from '@halting/core'
import { scriptedModel } from '@halting/core/testing'

const model = scriptedModel([{ toolCalls: [{ name: 'Clock' }] }, 'It is noon.'])
const inputSchema = { type: 'object' }
const clock = { name: 'Clock', description: 'Tells the time', inputSchema, readOnly: true, execute: () => '12:00' }

for await (const message of query({ prompt: 'What time is it?', options: { model, tools: [clock], maxTurns: 5 } })) {
  if (message.type === 'result') console.log(`${message.result} (${message.stop.reason}: ${message.stop.message})`)
}
