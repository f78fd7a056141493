import type { ToolOutput } from '@halting/core'

/** A result that says to the model what went wrong and what to do. */
export function failed(message: string): ToolOutput {
  return { content: message, isError: true }
}

/** The `code` of an error of Node, such as ENOENT. */
export function codeOf(thrown: unknown): string | undefined {
  return thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : undefined
}

/** At most `limit` UTF-16 units from the start, never half of a surrogate pair. */
export function headOf(text: string, limit: number): string {
  if (text.length <= limit) return text
  const end = isHighSurrogate(text.charCodeAt(limit - 1)) ? limit - 1 : limit
  return text.slice(0, Math.max(end, 0))
}

/** At most `limit` UTF-16 units from the end, never half of a surrogate pair. */
export function tailOf(text: string, limit: number): string {
  if (text.length <= limit) return text
  if (limit <= 0) return ''
  const start = text.length - limit
  return text.slice(isLowSurrogate(text.charCodeAt(start)) ? start + 1 : start)
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff
}
