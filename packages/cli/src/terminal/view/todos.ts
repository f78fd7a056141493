import { isJsonObject } from '@halting/core/adapters'
import type { Style } from '../../io/style.ts'
import { hanging } from './lines.ts'

/** One thing on the list of TodoWrite. */
export interface TodoItem {
  readonly content: string
  readonly status: 'pending' | 'in_progress' | 'completed'
}

/** The list in the input of a call, or in its structured result; undefined where there is none. */
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

/** What is left of the list. */
export function undoneOf(todos: readonly TodoItem[]): readonly TodoItem[] {
  return todos.filter(({ status }) => status !== 'completed')
}

const marks = { completed: '✓', in_progress: '▸', pending: '☐' } as const

export function todoLines(todos: readonly TodoItem[], width: number, style: Style, indent = ''): readonly string[] {
  const paints = { completed: style.dim, in_progress: style.bold, pending: (text: string) => text }
  return todos.flatMap(({ content, status }) =>
    hanging(`${indent}${marks[status]} `, content, width).map((line) => paints[status](line)),
  )
}
