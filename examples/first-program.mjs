// examples/first-program.mjs
import { query, tool } from '@halting/core'
import { scriptedModel } from '@halting/core/testing'

const model = scriptedModel([{ toolCalls: [{ name: 'Clock' }] }, 'It is noon.'])
const clock = tool({ name: 'Clock', description: 'Tells the time', readOnly: true, execute: () => '12:00' })

for await (const message of query({ prompt: 'What time is it?', options: { model, tools: [clock], maxTurns: 5 } })) {
  if (message.type === 'result') console.log(`${message.result} (${message.stop.reason}: ${message.stop.message})`)
}
