// examples/approval.mjs
import { QueryEngine, tool } from '@halting/core'
import { scriptedModel } from '@halting/core/testing'

const model = scriptedModel([{ toolCalls: [{ name: 'Delete', input: { path: 'old.txt' } }] }, 'It is gone.'])
const remove = tool({
  name: 'Delete',
  description: 'Deletes a file',
  inputSchema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
  execute: ({ path }) => `deleted ${path}`,
})
const permissions = { denies: () => undefined, decide: () => ({ behavior: 'ask', message: 'Delete old.txt?' }) }
const engine = new QueryEngine({ model, tools: [remove], permissions })

let pending = []
for await (const message of engine.submit('Tidy up.')) {
  if (message.type !== 'result') continue
  console.log(message.terminal_reason, message.stop.message)
  pending = message.stop.context.pending
}
const approvals = Object.fromEntries(pending.map(({ id }) => [id, { behavior: 'allow' }]))
for await (const message of engine.approve(approvals)) {
  if (message.type === 'result') console.log(message.terminal_reason, message.result)
}
