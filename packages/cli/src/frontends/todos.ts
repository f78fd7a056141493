import { isJsonObject } from '@halting/core/adapters'

/** One thing on the list of TodoWrite. */
export interface TodoItem {
  readonly content: string
  readonly status: 'pending' | 'in_progress' | 'completed'
}

/** The list in the input of a call, or in its structured result; undefined where there is none. What is no item is passed over. */
export function todosOf(given: unknown): readonly TodoItem[] | undefined {
  if (!isJsonObject(given)) return undefined
  const list = given['newTodos'] ?? given['todos']
  if (!Array.isArray(list)) return undefined
  return (list as readonly unknown[]).flatMap((item) => {
    if (!isJsonObject(item) || typeof item['content'] !== 'string') return []
    const { content, status } = item
    return [{ content, status: status === 'completed' || status === 'in_progress' ? status : 'pending' }]
  })
}
