import type { JsonObject, Tool } from '@halting/core'
import { headOf } from '@halting/core/adapters'
import { todosBefore } from '../context/todo-list.ts'
import { type Todo, todoForm, type TodoWriteInput } from './todo-form.ts'

/**
 * Keeps the list of things to do. The conversation is where it stands: the newest call is the list, also after a resume, and a compaction
 * carries it over (spec R-CARRY-1a).
 */
export function createTodoWriteTool(): Tool<TodoWriteInput> {
  return {
    name: 'TodoWrite',
    description:
      'Keeps the list of things to do, for work of three steps or more: each call replaces it. ' +
      'One thing is in_progress at a time; it is completed as soon as it is done and checked.',
    inputSchema: todoForm.schema,
    validate: (input) => todoForm.validate(input),
    // It changes what the model knows, and nothing else.
    readOnly: true,
    execute({ todos }, { state, callId }) {
      const details: JsonObject = { oldTodos: todosBefore(state.messages(), callId), newTodos: todos.map(wireTodo) }
      return { content: told(todos), details }
    },
  }
}

/** As programs that read `tool_use_result` know it. */
function wireTodo({ content, status, activeForm = content }: Todo): JsonObject {
  return { content, status, activeForm }
}

function told(todos: readonly Todo[]): string {
  const open = todos.filter(({ status }) => status !== 'completed')
  const [next] = [...open.filter(({ status }) => status === 'in_progress'), ...open]
  if (todos.length === 0) return 'The list is empty now.'
  if (next === undefined) return `The list is kept: all ${todos.length} done.`
  return `The list is kept: ${todos.length - open.length} of ${todos.length} done. Go on with: ${headOf(next.content, 200)}`
}
