import type { Json } from '@halting/core'
import { parseJson } from '../json-fields.ts'

/** A value of a provider as JSON, which is all that a record can hold; undefined for one that has no such form, or nests too deep. */
export function jsonCopyOf(value: unknown): Json | undefined {
  try {
    // JSON.stringify gives undefined for what has no JSON form, whatever its type says.
    const text = JSON.stringify(value) as string | undefined
    // What JSON.parse gives is JSON.
    return text === undefined ? undefined : (parseJson(text) as Json | undefined)
  } catch {
    return undefined
  }
}
