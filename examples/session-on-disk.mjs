// examples/session-on-disk.mjs
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { QueryEngine, tool } from '@halting/core'
import { scriptedModel } from '@halting/core/testing'
import { openJournal, readJournal } from '@halting/journal'

const path = join(mkdtempSync(join(tmpdir(), 'session-')), 'a.jsonl')
const look = tool({ name: 'Look', description: 'Looks around', readOnly: true, execute: () => 'a door and a window' })

/** Opens the session, as a process does when it starts, and prints how the run ends. */
async function work(replies, maxTurns, start) {
  const session = await openJournal({ path, sessionId: 'a', cwd: process.cwd(), version: '1.0.0' })
  const engine = new QueryEngine({ model: scriptedModel(replies), tools: [look], maxTurns, session })
  for await (const message of start(engine))
    if (message.type === 'result') console.log(`${message.subtype}: ${message.num_turns} turn(s)`)
  await session.close()
}

const calls = { toolCalls: [{ name: 'Look', input: {} }] }
await work([calls], 1, (engine) => engine.submit('What is in the room?'))
await work(['There is a door.'], 5, (engine) => engine.resume())
await work(['And a window.'], 5, (engine) => engine.submit('What else?'))

const { runs } = await readJournal(path)
console.log(`${runs.length} runs are on disk`)
