import type { JsonObject, Tool } from '@halting/core'
import { changedTaskList, memoOfChange, replacement, taskListAt } from './task-list/task-list.ts'
import { todosWritten } from './task-list/task-list-texts.ts'
import { type Todo, todoForm, type TodoWriteInput } from './todo-form.ts'

// Spec R-TODO-1.
/** Replaces the whole task list of the conversation. Offered to a model instead of the tools for single tasks. */
export function createTodoWriteTool(): Tool<TodoWriteInput> {
  return {
    name: 'TodoWrite',
    description:
      'Replaces the todo list. Use it for work of 3 or more steps. Have one item in_progress at a time; set it completed as soon as it is done and checked.',
    inputSchema: todoForm.schema,
    validate: (input) => todoForm.validate(input),
    // The tool changes only what the model knows.
    readOnly: true,
    concurrencySafe: false,
    execute({ todos }, context) {
      const list = taskListAt(context)
      const oldTodos = list.tasks.map(({ subject, status, activeForm }) =>
        wireTodo({ content: subject, status, ...(activeForm !== undefined && { activeForm }) }),
      )
      const change = replacement(list, todos)
      return {
        content: todosWritten(changedTaskList(list, change)),
        details: { oldTodos, newTodos: todos.map(wireTodo) },
        memo: memoOfChange(change),
      }
    },
  }
}

/** In the form that programs reading `tool_use_result` expect. */
function wireTodo({ content, status, activeForm = content }: Todo): JsonObject {
  return { content, status, activeForm }
}
