// examples/background.mjs
import { tmpdir } from 'node:os'
import { backgroundOf, createCodingTools, Workspace } from '@halting/agent'
import { QueryEngine } from '@halting/core'
import { scriptedModel } from '@halting/core/testing'

const workspace = new Workspace({ cwd: tmpdir() })
const build = { command: 'sleep 0.1; echo built', run_in_background: true }
const engine = new QueryEngine({
  model: scriptedModel([{ toolCalls: [{ name: 'Bash', input: build }] }, 'It is being built.', 'It is built.']),
  tools: createCodingTools(workspace),
  background: backgroundOf(workspace, { atEnd: 'wait' }),
})

for await (const message of engine.submit('Build it.')) {
  if (message.type === 'system' && message.subtype === 'task_notification') console.log(message.summary)
  if (message.type === 'result') console.log(message.result)
}
// After the last run, tasks that `keep` left continue to run. All others are ended.
await workspace.letGo()
await workspace.dispose()
