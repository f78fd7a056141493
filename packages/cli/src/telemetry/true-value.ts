/** As users of such agents write it. Whatever else it says, nothing is told. */
export function isTrueValue(value: string): boolean {
  return ['1', 'true', 'yes', 'on'].includes(value)
}
