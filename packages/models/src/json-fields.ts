import type { Json } from '@halting/core'

/** A text that a service or a script was to give; empty when it gave something else. */
export function stringOf(value: Json | undefined): string {
  return typeof value === 'string' ? value : ''
}

export function listOf(value: Json | undefined): readonly Json[] {
  // `Array.isArray` does not narrow a readonly list.
  return Array.isArray(value) ? (value as readonly Json[]) : []
}

/** What a text says as JSON; undefined when it is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
