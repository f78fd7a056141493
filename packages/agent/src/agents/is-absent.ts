/** Whether a field counts as absent: files may leave it empty. */
export function isAbsent(value: unknown): boolean {
  return value === undefined || value === null || value === ''
}
