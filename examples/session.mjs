// examples/session.mjs
import { tool } from '@halting/core'
import { scriptedModel } from '@halting/core/testing'
import { createSession } from '@halting/core/session'

const look = tool({ name: 'Look', description: 'Looks around', readOnly: true, execute: () => 'a door and a window' })
const calls = { toolCalls: [{ name: 'Look', input: {} }] }
const model = scriptedModel([calls, calls, 'There is a door.', 'And a window.'])

const session = createSession({
  options: { model, tools: [look], maxTurns: 2 },
  journal: undefined,
  answersQuestions: false,
  permissions: { mode: 'default' },
  cwd: process.cwd(),
  end: async () => {},
})

session.listen((event) => {
  if (event.type === 'run_start') console.log(`${event.runId} begins with ${event.ids.length} message(s)`)
  if (event.type === 'run_end') console.log(`${event.runId} ends: ${event.terminal.signal.message}`)
})

session.prompt('What is in the room?')
await session.settled()

const { last, nextStop, canResume } = session.snapshot
console.log(last.reason, nextStop, canResume)

// The same run continues with another limit, and takes the messages that arrive meanwhile.
session.resume({ maxTurns: 10 })
session.prompt('And what else?', { when: 'later' })
await session.settled()
console.log(session.snapshot.figures.turns, session.snapshot.last.reason)
await session.close()
