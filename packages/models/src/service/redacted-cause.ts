const mostParts = 2_000

/**
 * What an error was caused by, as it is where it holds no secret anywhere; else its names, messages and codes alone,
 * without what they hold.
 */
export function redactedCause(cause: unknown, redact: (text: string) => string): unknown {
  if (cause === undefined || isClean(cause, redact)) return cause
  return copyOf(cause, redact, 0)
}

function isClean(cause: unknown, redact: (text: string) => string): boolean {
  const waiting: unknown[] = [cause]
  const seen = new Set<unknown>()
  for (let value = waiting.pop(); value !== undefined; value = waiting.pop()) {
    if (seen.size > mostParts) return false
    if (typeof value === 'string') {
      // What is longer is nobody's message: it is not looked through.
      if (value.length > 20_000 || redact(value) !== value) return false
    } else if (typeof value === 'object' && value !== null && !seen.has(value)) {
      seen.add(value)
      if (ArrayBuffer.isView(value)) return false
      for (const name of Object.getOwnPropertyNames(value)) {
        const { value: part } = Object.getOwnPropertyDescriptor(value, name) ?? {}
        if (part !== undefined) waiting.push(part)
      }
    }
  }
  return true
}

function copyOf(cause: unknown, redact: (text: string) => string, depth: number): unknown {
  if (typeof cause === 'string') return redact(cause)
  if (!(cause instanceof Error) || depth > 8) return undefined
  const copy = new Error(redact(cause.message), { cause: copyOf(cause.cause, redact, depth + 1) })
  copy.name = redact(cause.name)
  copy.stack = redact(cause.stack ?? '')
  if ('code' in cause && typeof cause.code === 'string') Object.assign(copy, { code: redact(cause.code) })
  return copy
}
