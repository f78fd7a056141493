// Rules: R-HOST-5.
import type { JsonObject } from '@halting/core'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { UsageError } from '../../src/usage-error.ts'
import { joinContents, readUserMessage } from '../../src/host/prompt-intake.ts'

const user = (content: unknown, more: object = {}) =>
  ({ type: 'user', message: { role: 'user', content }, ...more }) as const

test('reads a text and a list of blocks unchanged', () => {
  // Any value that JSON can have.
  const blocks = [
    { type: 'text', text: 'look' },
    { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AA==' } },
  ]
  expect(readUserMessage(user('hi') as never)).toEqual({ content: 'hi', startsRun: true, isComposed: false })
  expect(readUserMessage(user(blocks, { session_id: '', parent_tool_use_id: null }) as never)).toEqual({
    content: blocks,
    startsRun: true,
    isComposed: false,
  })
})

test.each(['now', 'next', 'later'])('reads a uuid and the priority %s', (priority) => {
  expect(
    readUserMessage(user('hi', { uuid: 'u', priority, shouldQuery: false, client_composed: true }) as never),
  ).toEqual({
    content: 'hi',
    id: 'u',
    when: priority,
    startsRun: false,
    isComposed: true,
  })
})

test.each([
  [{ type: 'user' }, 'has no message'],
  [{ type: 'user', message: 'hi' }, 'has no message'],
  [{ type: 'user', message: { role: 'assistant', content: 'hi' } }, 'has a role that is not user'],
  [user(''), 'is empty'],
  [user([]), 'is empty'],
  [user(7), 'has a content that is neither a string nor a list of blocks'],
  [user(['hi']), 'has a block without a type'],
  [user('hi', { priority: 'soon' }), 'has a priority other than now, next and later'],
])('%j %s, and the error shows the right form', (line, problem) => {
  expect(() => readUserMessage(line as never)).toThrow(
    `A message of the host ${problem}. Expected {"type":"user","message":{"role":"user","content":"…"},"parent_tool_use_id":null,"session_id":""}.`,
  )
})

test('any input is a message or rejected as one', () => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.constantFrom('message', 'uuid', 'priority', 'shouldQuery'), fc.jsonValue()),
      (line) => {
        expect(['message', 'refused']).toContain(becomes(line))
      },
    ),
  )
})

function becomes(line: JsonObject): string {
  try {
    const { content } = readUserMessage(line)
    return typeof content === 'string' || Array.isArray(content) ? 'message' : 'something else'
  } catch (thrown) {
    return thrown instanceof UsageError ? 'refused' : 'broken'
  }
}

test('joins two messages in order', () => {
  expect(joinContents('a', [{ type: 'text', text: 'b' }])).toEqual([
    { type: 'text', text: 'a' },
    { type: 'text', text: 'b' },
  ])
})
