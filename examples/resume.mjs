// examples/resume.mjs
import { createMemorySteps, streamRun, replay, resume, startRun, tool } from '@halting/core'
import { scriptedModel } from '@halting/core/testing'

const done = []
const tools = [
  tool({
    name: 'Send',
    description: 'Sends a mail',
    execute: () => (done.push('sent'), 'sent'),
  }),
]
const script = [{ toolCalls: [{ name: 'Send' }] }, 'The mail is on its way.']

// A complete run, with its record.
const steps = createMemorySteps()
await streamRun(startRun({ prompt: 'Send it.' }), { model: scriptedModel(script), tools, steps }).result
const records = JSON.parse(JSON.stringify(steps.records))
console.log(records.map(({ type, key = '' }) => `${type} ${key}`.trim()).join('\n'))

// The process dies right after the intent record of the mail: nobody knows whether the mail was sent.
const cut = records.findIndex(({ type, key = '' }) => type === 'intent' && key.includes('/tool:')) + 1
const resumed = resume(records.slice(0, cut), { model: scriptedModel(['I will look whether it was sent.']), tools })
for await (const event of resumed.loop) {
  if (event.type === 'tool_end') console.log(`resumed: ${event.name} is ${event.status}`)
}
console.log(`resumed: ${(await resumed.loop.result).reason}`)

// A replay runs nothing and has the same result.
const played = await replay(records, { model: scriptedModel([]), tools })
console.log(`replayed: ${played.terminal.reason}; mails sent in all: ${done.length}`)
