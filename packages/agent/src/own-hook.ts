/** Whether a hook of this name is the program's own, and none of a person's: what it does is not told as theirs. */
export function isOwnHook(id: string): boolean {
  return id.startsWith('halting:')
}
