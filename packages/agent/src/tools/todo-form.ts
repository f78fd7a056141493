import { listOf } from './input-list.ts'
import { filledText, inputForm, type InputForm, oneOf, optional } from './input.ts'

/** An item of the list. */
export interface Todo {
  /** The task, in a few words. */
  readonly content: string
  /** Its status. */
  readonly status: 'pending' | 'in_progress' | 'completed'
  /** The text shown while it is in progress. */
  readonly activeForm?: string
}

/** Input of the TodoWrite tool. */
export interface TodoWriteInput {
  /** The whole list, which replaces the former one. */
  readonly todos: readonly Todo[]
}

const maxTodos = 100

/** The input of TodoWrite. */
export const todoForm: InputForm<TodoWriteInput> = inputForm<TodoWriteInput>('TodoWrite', {
  todos: listOf<Todo>(
    'The whole list',
    {
      content: filledText('Such as "Run the tests"'),
      status: oneOf('How far it is', ['pending', 'in_progress', 'completed']),
      activeForm: optional(filledText('Such as "Running the tests"')),
    },
    { mostItems: maxTodos },
  ),
})
