// Spec R-TODO-1, R-TODO-2: the list of things to do.
import { expect, test } from 'vitest'
import type { ModelMessage, ToolContext } from '@halting/core'
import { createTodoWriteTool } from '@halting/agent'
import { todoListOf } from '../src/context/todo-list.ts'
import { codingTools } from './support/harness.ts'

const list = [
  { content: 'Read the code', status: 'completed', activeForm: 'Reading the code' },
  { content: 'Change it', status: 'pending' },
  { content: 'Run the tests', status: 'in_progress', activeForm: 'Running the tests' },
]

test('TodoWrite keeps the list and names what is being done', async () => {
  const { use } = codingTools()
  expect(await use('TodoWrite', { todos: list })).toMatchObject({
    isError: false,
    text: 'The list is kept: 1 of 3 done. Go on with: Run the tests',
    details: { oldTodos: [], newTodos: [list[0], { ...list[1], activeForm: 'Change it' }, list[2]] },
  })
  expect((await use('TodoWrite', { todos: [list[1]] })).text).toBe(
    'The list is kept: 0 of 1 done. Go on with: Change it',
  )
  expect((await use('TodoWrite', { todos: [list[0]] })).text).toBe('The list is kept: all 1 done.')
  expect((await use('TodoWrite', { todos: [] })).text).toBe('The list is empty now.')
})

test('TodoWrite says what was on the list before: of the newest call that was not refused', async () => {
  const before = [{ content: 'Old', status: 'pending', activeForm: 'Old' }]
  const called = (id: string, todos: unknown): ModelMessage => ({
    role: 'assistant',
    content: [{ type: 'tool_use', id, name: 'TodoWrite', input: { todos } }],
  })
  const answered = (id: string, isError: boolean): ModelMessage => ({
    role: 'user',
    content: [{ type: 'tool_result', tool_use_id: id, content: 'x', is_error: isError }],
  })
  const messages = [
    called('a', before),
    answered('a', false),
    called('b', 'wrong'),
    answered('b', true),
    called('c', []),
  ]
  // Of the run the tool reads the conversation alone.
  const context = { callId: 'c', state: { messages: () => messages } } as unknown as ToolContext
  const output = await createTodoWriteTool().execute({ todos: [] }, context)
  expect(output).toMatchObject({ details: { oldTodos: before, newTodos: [] } })
})

test('a list that was written as a text is the list afterwards, too (spec R-TODO-1)', () => {
  const input = { todos: JSON.stringify([{ content: 'Check', status: 'IN_PROGRESS' }]) }
  const content = [{ type: 'tool_use', id: 'a', name: 'TodoWrite', input }] as const
  expect(todoListOf([{ role: 'assistant', content }])?.text).toBe('[>] Check')
})

test.each([
  ['no list', {}],
  ['a status that there is not', { todos: [{ content: 'a', status: 'done' }] }],
  ['nothing to do', { todos: [{ content: '', status: 'pending' }] }],
  ['another field', { todos: [{ content: 'a', status: 'pending', priority: 1 }] }],
  ['more than a list may hold', { todos: Array.from({ length: 101 }, () => ({ content: 'a', status: 'pending' })) }],
])('TodoWrite refuses %s in one line', async (_, input) => {
  const { text, isError } = await codingTools().use('TodoWrite', input)
  expect(isError).toBe(true)
  expect(text).toMatch(/^todos .*a list of at most 100 objects with content: .*Fields of TodoWrite: todos\.$/)
})
