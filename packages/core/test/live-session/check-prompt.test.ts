// Tests R-LIVE-2a: content that no service accepts is rejected before it is in the conversation.
import { createSession } from '../../src/live-session/create-session.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { expect, test } from 'vitest'

test.each([
  [null, 'a text or a list of blocks'],
  [[null], 'an object with a type'],
  [[{ text: 'x' }], 'an object with a type'],
  [[{ type: 'text' }], 'needs its text'],
  [[{ type: 'text', text: '' }], 'needs its text'],
  [[{ type: 'tool_result', tool_use_id: 'x', content: 'y' }], 'of replies and results'],
  [
    [
      { type: 'text', text: 'x' },
      { type: 'tool_use', id: 'x', name: 'Bash', input: {} },
    ],
    'of replies and results',
  ],
])('%j is not a valid prompt', async (content, because) => {
  const session = createSession({
    options: { model: scriptedModel(['Hello.']) },
    journal: undefined,
    answersQuestions: false,
    permissions: { mode: 'default' },
    cwd: '/work',
    end: async () => undefined,
  })
  // A host or plain JavaScript code can pass a value of any type.
  expect(() => session.prompt(content as never)).toThrow(because)
  expect(session.snapshot).toMatchObject({ status: 'idle', queue: [] })
  session.prompt([{ type: 'text', text: 'hi' }])
  await session.settled()
  expect(session.snapshot.last?.reason).toBe('completed')
  await session.close()
})
