import { isJsonObject } from '@halting/core/adapters'
import type { Json } from '@halting/core'
import { stringOf } from '../json-fields.ts'

/** A call that the model wrote and the service refused: the name of its tool, empty where it cannot be found, and what was written. */
export interface RefusedCall {
  readonly name: string
  readonly text: string
}

/** How models write the name of a tool in a call: as JSON, in tags (Llama), or in front of its arguments. */
const names = [/"name"\s*:\s*"([\w.-]{1,128})"/, /<function=([\w.-]{1,128})/, /^\s*([\w.-]{1,128})\s*\{/]

/** What Groq says in a stream where it cannot read a call (`tool_use_failed`); undefined for any other error. */
export function refusedCallOf(error: Json | undefined): RefusedCall | undefined {
  if (!isJsonObject(error) || error.code !== 'tool_use_failed') return undefined
  const text = stringOf(error.failed_generation) || stringOf(error.message)
  const beginning = text.slice(0, 2_000)
  const name = names.map((pattern) => pattern.exec(beginning)?.[1]).find((found) => found !== undefined) ?? ''
  return { name, text }
}
