import { isJsonObject } from '@halting/core/adapters'
import type { Json, JsonObject } from '@halting/core'

/** The fields that are not undefined. */
export function withoutUndefinedFields(fields: Readonly<Record<string, Json | undefined>>): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

export function textIn(value: Json | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined
}

export function booleanIn(value: Json | undefined): boolean | undefined {
  return typeof value === 'boolean' ? value : undefined
}

/** Servers in some languages, such as Go, send null for an empty list. */
export function listIn(value: Json | undefined): readonly Json[] | undefined {
  return value === null || value === undefined ? [] : Array.isArray(value) ? value : undefined
}

/** Removes `_meta` if it is not of the type that the client expects. */
export function withValidMeta({ _meta: meta, ...rest }: JsonObject): JsonObject {
  return isJsonObject(meta) ? { ...rest, _meta: meta } : rest
}

/**
 * Whether a value has more levels than `most`. Iterative, because recursion would overflow the stack on deep values.
 */
export function isDeeperThan(most: number, value: unknown): boolean {
  let level: readonly unknown[] = [value]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > most) return true
    level = level.flatMap((one) => (typeof one === 'object' && one !== null ? Object.values(one) : []))
  }
  return false
}

/** A name for messages to users: one line, bounded in length. */
export function nameFor(value: Json | undefined): string {
  const text = typeof value === 'string' ? value : ''
  return text
    .replace(/[\s\p{C}]+/gu, ' ')
    .trim()
    .slice(0, 80)
}
