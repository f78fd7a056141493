import type { TodoItem } from '../../frontends/todos.ts'
import type { Style } from '../../io/style.ts'
import { hanging } from './lines.ts'

/** The unfinished todos. */
export function unfinishedTodos(todos: readonly TodoItem[]): readonly TodoItem[] {
  return todos.filter(({ status }) => status !== 'completed')
}

const marks = { completed: '✓', in_progress: '▸', pending: '☐' } as const

export function todoLines(todos: readonly TodoItem[], width: number, style: Style, indent = ''): readonly string[] {
  const paints = { completed: style.dim, in_progress: style.bold, pending: (text: string) => text }
  return todos.flatMap(({ content, status }) =>
    hanging(`${indent}${marks[status]} `, content, width).map((line) => paints[status](line)),
  )
}
