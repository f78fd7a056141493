/** As users of such agents write it. Whatever else it says, nothing is told. */
export function isYes(said: string): boolean {
  return ['1', 'true', 'yes', 'on'].includes(said)
}
