/** Whether a variable turns something on. Never throws or reports. */
export function isTrueValue(value: string): boolean {
  return ['1', 'true', 'yes', 'on'].includes(value)
}
