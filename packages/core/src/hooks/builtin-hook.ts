/** Whether a hook is built in, by its id. Built-in hooks are not reported as a person's hooks. */
export function isBuiltinHook(id: string): boolean {
  return id.startsWith('halting:')
}
