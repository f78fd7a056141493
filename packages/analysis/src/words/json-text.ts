/** What people write is nested less deep. Of what is, indented, most would be blanks. */
const deepestIndented = 20

/** JSON for a person to read; '' for what has none. */
export function jsonText(value: unknown): string {
  return JSON.stringify(value, null, isDeeper(value, deepestIndented) ? undefined : 2) ?? ''
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((part) => isDeeper(part, levels - 1))
}
