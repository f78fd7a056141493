import { isJsonObject } from '@halting/core/adapters'

/** One item of the task list. */
export interface TodoItem {
  /** Absent in a list of TodoWrite. */
  readonly id?: string
  readonly content: string
  readonly status: 'pending' | 'in_progress' | 'completed'
}

/** Tools after whose calls the task list is another one. */
const toolsThatChangeTodos: ReadonlySet<string> = new Set(['TodoWrite', 'TaskCreate', 'TaskUpdate'])

/** The task list after a call that succeeded, from its structured result; undefined where the call leaves it as it was. */
export function todosAfter(tool: string, result: unknown): readonly TodoItem[] | undefined {
  return toolsThatChangeTodos.has(tool) ? todosOf(result) : undefined
}

/** The list in the input of TodoWrite, or in a structured result; undefined where there is none. What is not an item is skipped. */
export function todosOf(value: unknown): readonly TodoItem[] | undefined {
  if (!isJsonObject(value)) return undefined
  const list = value['newTodos'] ?? value['todos'] ?? value['taskList'] ?? value['tasks']
  if (!Array.isArray(list)) return undefined
  return (list as readonly unknown[]).flatMap((item) => {
    if (!isJsonObject(item)) return []
    const { id, status } = item
    const content = item['content'] ?? item['subject']
    if (typeof content !== 'string') return []
    const known = status === 'completed' || status === 'in_progress' ? status : 'pending'
    return [{ ...(typeof id === 'string' && { id }), content, status: known }]
  })
}
