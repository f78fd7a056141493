/** The same JSON with every text in it as `redact` leaves it, keys too. What holds nothing to redact is the same object. */
export function redactedValue<T>(value: T, redact: (text: string) => string): T {
  // Each branch gives what has the shape that it had.
  return redacted(value, redact) as T
}

function redacted(value: unknown, redact: (text: string) => string): unknown {
  if (typeof value === 'string') return redact(value)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    const parts = value.map((part: unknown) => redacted(part, redact))
    return parts.every((part, index) => part === value[index]) ? value : parts
  }
  const entries = Object.entries(value).map(([key, part]: [string, unknown]) => [redact(key), redacted(part, redact)])
  const isSame = Object.entries(value).every(
    ([key, part], index) => entries[index]?.[0] === key && entries[index]?.[1] === part,
  )
  return isSame ? value : (Object.fromEntries(entries) as unknown)
}
