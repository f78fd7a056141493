// examples/run.mjs
import { outputSchema, run, tool } from '@halting/core'
import { scriptedModel } from '@halting/core/testing'
import { z } from 'zod'

const model = scriptedModel([{ toolCalls: [{ name: 'Orders' }] }, '{ "late": 2 }', 'Anna and Ben.'])
const orders = tool({
  name: 'Orders',
  description: 'Lists the orders of today',
  readOnly: true,
  execute: () => 'Anna: late. Ben: late. Cleo: on time.',
})

const first = await run({
  model,
  tools: [orders],
  prompt: 'How many orders are late?',
  output: outputSchema(z.object({ late: z.number() })),
  maxTurns: 5,
})
console.log(first.output, first.reason, `${first.turns} turns`)

// The next run starts from the conversation of the first.
const second = await run({ model, tools: [orders], messages: first.messages, prompt: 'Whose?', maxTurns: 5 })
console.log(second.output, `${second.messages.length} messages`)
