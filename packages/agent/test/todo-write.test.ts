// Spec R-TODO-1, R-TODO-2, R-TODO-4: TodoWrite.
import { expect, test } from 'vitest'
import { noUsage } from '@halting/core/adapters'
import type { Json, TranscriptEntry } from '@halting/core'
import { taskListOf } from '../src/tools/task-list/task-list.ts'
import { todosWritten } from '../src/tools/task-list/task-list-texts.ts'
import { codingTools } from './support/harness.ts'

const list = [
  { content: 'Read the code', status: 'completed', activeForm: 'Reading the code' },
  { content: 'Change it', status: 'pending' },
  { content: 'Run the tests', status: 'in_progress', activeForm: 'Running the tests' },
]

test('TodoWrite replaces the list, says what is next, and returns the previous list to programs', async () => {
  const { use } = codingTools()
  const newTodos = [list[0], { ...list[1], activeForm: 'Change it' }, list[2]]
  expect(await use('TodoWrite', { todos: list })).toMatchObject({
    isError: false,
    text: expect.stringMatching(/1 of 3 completed. Next: #3 Run the tests$/),
    details: { oldTodos: [], newTodos },
  })
  expect(await use('TodoWrite', { todos: [list[1]] })).toMatchObject({
    text: expect.stringMatching(/0 of 1 completed. Next: #2 Change it$/),
    details: { oldTodos: newTodos, newTodos: [newTodos[1]] },
  })
  expect((await use('TodoWrite', { todos: [list[0]] })).text).toContain('All 1 completed.')
  expect((await use('TodoWrite', { todos: [] })).text).toBe(todosWritten({ tasks: [], lastId: 4 }))
})

/** A call of TodoWrite in sessions of earlier versions: without a memo. */
function called(id: string, todos: Json, isError = false): readonly TranscriptEntry[] {
  const input = { todos }
  return [
    {
      kind: 'assistant',
      id: `asked_${id}`,
      message: {
        id: `msg_${id}`,
        role: 'assistant',
        model: 'm',
        content: [{ type: 'tool_use', id, name: 'TodoWrite', input }],
        stop_reason: 'tool_use',
        usage: noUsage,
      },
    },
    {
      kind: 'user',
      id: `answered_${id}`,
      origin: 'tool_results',
      message: {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: id, content: 'x', ...(isError && { is_error: true }) }],
      },
    },
  ]
}

const subjects = (entries: readonly TranscriptEntry[]): readonly string[] =>
  taskListOf(entries).tasks.map(({ id, status, subject }) => `${id} ${status} ${subject}`)

test('calls of earlier versions count too: the newest that was not rejected', () => {
  const old = [{ content: 'Old', status: 'pending', activeForm: 'Old' }]
  const entries = [...called('a', old), ...called('b', 'wrong', true)]
  expect(subjects(entries)).toEqual(['1 pending Old'])
  expect(subjects([...entries, ...called('c', [])])).toEqual([])
})

test('a list written as a text counts afterwards, too', () => {
  const todos = JSON.stringify([{ content: 'Check', status: 'IN_PROGRESS' }])
  expect(subjects(called('a', todos))).toEqual(['1 in_progress Check'])
})

test.each([
  ['no list', {}],
  ['a status that there is not', { todos: [{ content: 'a', status: 'done' }] }],
  ['nothing to do', { todos: [{ content: '', status: 'pending' }] }],
  ['another field', { todos: [{ content: 'a', status: 'pending', priority: 1 }] }],
  ['more than a list may hold', { todos: Array.from({ length: 101 }, () => ({ content: 'a', status: 'pending' })) }],
])('TodoWrite rejects %s in one line', async (_, input) => {
  const { text, isError } = await codingTools().use('TodoWrite', input)
  expect(isError).toBe(true)
  expect(text).toMatch(/todos .*100.*content.*todos/)
  expect(text).not.toContain('\n')
})
