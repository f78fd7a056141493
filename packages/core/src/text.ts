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

/** `3 items`, `1 item`. */
export function many(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`
}
