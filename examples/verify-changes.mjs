// examples/verify-changes.mjs
import { run, tool } from '@halting/core'
import { scriptedModel } from '@halting/core/testing'

const edit = tool({
  name: 'Edit',
  description: 'Changes a file',
  inputSchema: { type: 'object' },
  execute: () => ({ content: 'Changed 12 lines of src/calc.js.', fileWork: { changedLines: 12 } }),
})
const shell = tool({
  name: 'Shell',
  description: 'Runs a command',
  inputSchema: { type: 'object', properties: { command: { type: 'string' } }, required: ['command'] },
  execute: ({ command }) => ({ content: '40 tests passed', fileWork: { check: { command, passed: true } } }),
})
const model = scriptedModel([
  { toolCalls: [{ name: 'Edit' }] },
  'Fixed the rounding.',
  { toolCalls: [{ name: 'Shell', input: { command: 'npm test' } }] },
  'Fixed the rounding; all 40 tests pass.',
])
const verification = { mode: 'ask', checks: () => ['npm test'] }
const outcome = await run({ prompt: 'Fix the rounding.', model, tools: [edit, shell], verification })
console.log(model.requests[2].messages.at(-1).content)
console.log([outcome.reason, outcome.verified, outcome.text])
