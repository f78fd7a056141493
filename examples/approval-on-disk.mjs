// examples/approval-on-disk.mjs
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { QueryEngine, tool } from '@halting/core'
import { scriptedModel } from '@halting/core/testing'
import { openJournal } from '@halting/journal'

const path = join(mkdtempSync(join(tmpdir(), 'session-')), 'a.jsonl')
const pay = tool({
  name: 'Pay',
  description: 'Pays a bill',
  inputSchema: { type: 'object', properties: { usd: { type: 'number' } }, required: ['usd'] },
  needsApproval: true,
  execute: ({ usd }) => `paid ${usd} dollars`,
})

/** Opens the session, as a process does when it starts, and prints how the run ends. */
async function work(replies, start) {
  const session = await openJournal({ path, sessionId: 'a', cwd: process.cwd(), version: '1.0.0' })
  const engine = new QueryEngine({ model: scriptedModel(replies), tools: [pay], session })
  for await (const message of start(engine)) if (message.type === 'result') console.log(message.terminal_reason)
  await session.close()
}

await work([{ toolCalls: [{ name: 'Pay', input: { usd: 20 } }] }], (engine) => engine.submit('Pay the bill.'))

// Another process lists the pending call and answers it.
await work(['The bill is paid.'], (engine) => {
  const [{ callId, tool: name, input }] = engine.pending()
  console.log(`${name} waits with`, input)
  return engine.approve({ [callId]: { behavior: 'allow' } })
})
