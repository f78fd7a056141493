/** What a file leaves empty it does not say. */
export function isAbsent(value: unknown): boolean {
  return value === undefined || value === null || value === ''
}
