import type { Json } from '@halting/core'
import { parseJson } from '../json-fields.ts'

/**
 * Copies a provider's value as JSON, which is all that a record can store. Undefined if it has no JSON form or is
 * nested too deeply.
 */
export function jsonCopyOf(value: unknown): Json | undefined {
  try {
    // JSON.stringify returns undefined for values without a JSON form, although its type does not say so.
    const text = JSON.stringify(value) as string | undefined
    // JSON.parse returns JSON.
    return text === undefined ? undefined : (parseJson(text) as Json | undefined)
  } catch {
    return undefined
  }
}
