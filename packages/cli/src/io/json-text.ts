/** JSON on one line. JSON escapes line feeds; some readers also end a line at U+2028 and U+2029. */
export function jsonText(value: object): string {
  return JSON.stringify(value)
    .replaceAll('\u2028', String.raw`\u2028`)
    .replaceAll('\u2029', String.raw`\u2029`)
}
