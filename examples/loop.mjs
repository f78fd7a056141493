// examples/loop.mjs
import { streamRun, tool } from '@halting/core'
import { scriptedModel } from '@halting/core/testing'

const model = scriptedModel([{ toolCalls: [{ name: 'Look' }] }, 'Nothing to see.'])
const look = tool({
  name: 'Look',
  description: 'Looks',
  readOnly: true,
  execute: () => 'an empty room',
})

const running = streamRun({ model, tools: [look], prompt: 'What is in the room?', maxTurns: 4 })
for await (const event of running) {
  if (event.type === 'tool_end') console.log(`${event.name}: ${event.status}`)
  if (event.type === 'lap') console.log(`${event.transition}: ${event.before.join('/')} -> ${event.after.join('/')}`)
}
const { reason, summary } = await running.result
console.log(`${reason} after ${summary.requests} requests`)
