import { isJsonObject } from '@halting/core/adapters'

/** One item of the task list. */
export interface TodoItem {
  /** Absent in a list of TodoWrite. */
  readonly id?: string
  readonly content: string
  readonly status: 'pending' | 'in_progress' | 'completed'
}

/** The tools that change the task list. */
const toolsThatChangeTodos: ReadonlySet<string> = new Set(['TodoWrite', 'TaskCreate', 'TaskUpdate'])

/** The task list after a successful call, from its structured result; undefined if the call does not change it. */
export function todosAfter(tool: string, result: unknown): readonly TodoItem[] | undefined {
  return toolsThatChangeTodos.has(tool) ? todosOf(result) : undefined
}

/** The list in the input of TodoWrite or in a structured result; undefined without a list. Invalid items are skipped. */
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
