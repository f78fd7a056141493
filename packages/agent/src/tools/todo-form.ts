import { listOf } from './input-list.ts'
import { filledText, inputForm, type InputForm, oneOf, optional } from './input.ts'

/** One thing to do. */
export interface Todo {
  /** The task, in a few words. */
  readonly content: string
  /** How far it is. */
  readonly status: 'pending' | 'in_progress' | 'completed'
  /** What is said while it is being done. */
  readonly activeForm?: string
}

/** Input of the TodoWrite tool. */
export interface TodoWriteInput {
  /** The whole list, in place of the former. */
  readonly todos: readonly Todo[]
}

const mostTodos = 100

/** The input of TodoWrite. */
export const todoForm: InputForm<TodoWriteInput> = inputForm<TodoWriteInput>('TodoWrite', {
  todos: listOf<Todo>(
    'The whole list',
    {
      content: filledText('Such as "Run the tests"'),
      status: oneOf('How far it is', ['pending', 'in_progress', 'completed']),
      activeForm: optional(filledText('Such as "Running the tests"')),
    },
    { mostItems: mostTodos },
  ),
})
