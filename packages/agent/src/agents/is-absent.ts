/** Whether a field counts as absent: in files, a field may be empty. */
export function isAbsent(value: unknown): boolean {
  return value === undefined || value === null || value === ''
}
