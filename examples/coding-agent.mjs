// examples/coding-agent.mjs
import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { codingAgent } from '@halting/agent'
import { tool } from '@halting/core'
import { scriptedModel } from '@halting/core/testing'

const cwd = await mkdtemp(join(tmpdir(), 'project-'))
await writeFile(join(cwd, 'sum.mjs'), 'export const sum = (a, b) => a - b\n')
const model = scriptedModel([
  { toolCalls: [{ name: 'Read', input: { file_path: 'sum.mjs' } }] },
  { toolCalls: [{ name: 'Edit', input: { file_path: 'sum.mjs', old_string: 'a - b', new_string: 'a + b' } }] },
  {
    toolCalls: [
      { name: 'Bash', input: { command: 'rm -rf .' } },
      { name: 'Ticket', input: { number: '7' } },
    ],
  },
  'It is fixed.',
  '{"files":["sum.mjs"]}',
])

// A custom tool: the type of the input of `execute` is inferred from the schema.
const ticket = tool({
  name: 'Ticket',
  description: 'Closes a ticket',
  inputSchema: { type: 'object', properties: { number: { type: 'integer' } }, required: ['number'] },
  execute: ({ number }) => `closed ${number}`,
})

const builder = await codingAgent({
  cwd,
  model, // or a model name, such as 'claude-sonnet-5-5'
  tools: [ticket],
  permissionMode: 'acceptEdits',
  allowedTools: ['Ticket'],
  outputSchema: {
    type: 'object',
    properties: { files: { type: 'array', items: { type: 'string' } } },
    required: ['files'],
  },
  env: { ...process.env, HOME: await mkdtemp(join(tmpdir(), 'home-')) }, // where this example stores the session
})
const engine = await builder.engine()
for await (const message of engine.submit('sum() is wrong. Fix it, and close ticket 7.')) {
  if (message.type !== 'result') continue
  console.log(message.terminal_reason, message.structured_output.files)
  console.log('denied:', message.permission_denials.map(({ tool_input }) => tool_input.command).join())
}
await builder.dispose()
console.log(await readFile(join(cwd, 'sum.mjs'), 'utf8'))
