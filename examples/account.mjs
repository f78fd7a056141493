// examples/account.mjs
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { accountOf } from '@halting/analysis'
import { QueryEngine, tool } from '@halting/core'
import { scriptedModel } from '@halting/core/testing'
import { openJournal, readJournal } from '@halting/journal'

// // A session on disk: its run ends at a limit of two turns.
const path = join(mkdtempSync(join(tmpdir(), 'session-')), 'a.jsonl')
const session = await openJournal({ path, sessionId: 'a', cwd: process.cwd(), version: '1.0.0' })
const look = tool({ name: 'Look', description: 'Looks around', readOnly: true, execute: () => 'a wall' })
const model = scriptedModel([{ toolCalls: [{ name: 'Look' }] }, { toolCalls: [{ name: 'Look' }] }])
for await (const _ of new QueryEngine({ model, tools: [look], maxTurns: 2, session }).submit('Find the door.'));
await session.close()

const { runs } = await readJournal(path)
for (const records of runs) {
  const { ending, totals, tools } = accountOf(records)
  console.log(`${ending.reason}: ${ending.signal.message}`)
  console.log(`${totals.turns} turns, ${totals.tokens} tokens; tools: ${tools.map(({ tool }) => tool).join()}`)
}
