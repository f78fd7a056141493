// examples/approval.mjs
import { run, tool } from '@halting/core'
import { scriptedModel } from '@halting/core/testing'

const remove = tool({
  name: 'Delete',
  description: 'Deletes a file',
  inputSchema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
  needsApproval: ({ path }) => !path.startsWith('tmp/'),
  execute: ({ path }) => `deleted ${path}`,
})

// One request to your server: the run ends with a permission request, and you store it.
const calling = scriptedModel([{ toolCalls: [{ name: 'Delete', input: { path: 'old.txt' } }] }])
const first = await run({ model: calling, tools: [remove], prompt: 'Tidy up.' })
const stored = JSON.stringify({ messages: first.messages, pending: first.pending })
console.log(first.reason)

// A later request, perhaps in another process: a person has decided, and answers.
const { messages, pending } = JSON.parse(stored)
for (const { tool: name, input, reason } of pending) console.log(name, input, reason)
const approvals = Object.fromEntries(pending.map(({ callId }) => [callId, { behavior: 'allow' }]))
const answering = scriptedModel(['It is gone.'])
const second = await run({ model: answering, tools: [remove], messages, approvals })
console.log(second.reason, second.output)
