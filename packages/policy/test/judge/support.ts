import { createPermissions, type PermissionOptions } from '../../src/permissions/permissions.ts'
import type { PermissionRequest, Tool } from '@halting/core'

const bash: Tool = { name: 'Bash', description: '', inputSchema: {}, readOnly: false, execute: () => '' }

export function bashCall(command: string): PermissionRequest {
  return { call: { type: 'tool_use', id: 'call_1', name: 'Bash', input: { command } }, tool: bash, readOnly: false }
}

/** The decision about a command under these rules. */
export function judged(command: string, options: Partial<PermissionOptions> & { readonly cwd: string }): string {
  const decision = createPermissions(options).decide(bashCall(command))
  if (decision instanceof Promise) throw new Error('rules decide at once')
  return decision.behavior
}
