/** Texts of people are not nested this deeply. Deeper values are not indented, because most of the text would be blanks. */
const maxIndentedDepth = 20

/** JSON for people; '' for a value that has no JSON. */
export function jsonText(value: unknown): string {
  return JSON.stringify(value, null, isDeeper(value, maxIndentedDepth) ? undefined : 2) ?? ''
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((part) => isDeeper(part, levels - 1))
}
