import { createSession, type SessionEvent } from '@halting/core/session'
import { foldSession, type StepRecord } from '@halting/core/steps'
import { scriptedModel } from '@halting/core/testing'

/** Plays a session, and returns its events and records. */
export async function recordSession(): Promise<{ readonly events: SessionEvent[]; readonly records: StepRecord[] }> {
  const records: StepRecord[] = []
  const events: SessionEvent[] = []
  const session = createSession({
    options: {
      model: scriptedModel([{ text: 'looking', toolCalls: [{ name: 'Look', id: 'l1' }] }, 'done']),
      tools: [
        {
          name: 'Look',
          description: 'Looks.',
          inputSchema: { type: 'object' },
          readOnly: true,
          execute: async () => 'seen',
        },
      ],
      sessionId: 's',
    },
    journal: {
      ...foldSession([]),
      path: 's',
      log: { keeps: 'all', append: (record) => void records.push(JSON.parse(JSON.stringify(record))), flush() {} },
      rewind: () => Promise.reject(new Error('no')),
      messageOf: () => Promise.reject(new Error('no')),
    },
    answersQuestions: false,
    permissions: { mode: 'default' },
    cwd: '/',
    end: async () => {},
  })
  session.listen((event) => events.push(event))
  session.prompt('look', { id: 'p' })
  await session.settled()
  return { events, records }
}
