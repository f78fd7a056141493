// examples/first-program.mjs
import { run, tool } from '@halting/core'
import { scriptedModel } from '@halting/core/testing'

const model = scriptedModel([{ toolCalls: [{ name: 'Clock' }] }, 'It is noon.'])
const clock = tool({ name: 'Clock', description: 'Returns the time', readOnly: true, execute: () => '12:00' })

const { output, reason, message } = await run({ model, tools: [clock], prompt: 'What time is it?', maxTurns: 5 })
console.log(`${output} (${reason}: ${message})`)
