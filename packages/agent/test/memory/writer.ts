// Stores notes until it is killed: `node writer.mjs HOME FIRST`.
import { memoryPlace } from '@halting/agent'
import { withLockedMemory } from '@halting/agent/memory'
import { newNote } from '../../src/memory/note.ts'
import { addNotes } from '../../src/memory/store.ts'

const [home = '', first = '0'] = process.argv.slice(2)
const place = memoryPlace({ cwd: '/work/project', home, env: {} })
process.stdout.write('began\n')
for (let at = Number(first); ; at++) {
  const source = { sessionId: `session-${at}`, messageId: `message-${at}` }
  const note = newNote(`Rule number ${at} is to be kept.`, '2026-11-23', source)
  await withLockedMemory(place, (held) => addNotes(held, [{ topic: at % 2 === 0 ? 'project' : 'user', note }]))
  process.stdout.write(`kept ${at}\n`)
}
