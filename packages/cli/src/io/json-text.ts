/** JSON on one line, whatever is in it: JSON escapes line feeds, and these two end a line for some readers. */
export function jsonText(value: object): string {
  return JSON.stringify(value)
    .replaceAll('\u2028', String.raw`\u2028`)
    .replaceAll('\u2029', String.raw`\u2029`)
}
