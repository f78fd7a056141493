import type { PermissionMode } from '@halting/policy'
import type { AgentDefinition } from './definition.ts'

/** How much a mode lets happen without a person, the least first. */
const looseness: { readonly [mode in PermissionMode]: number } = {
  plan: 0,
  dontAsk: 1,
  default: 2,
  acceptEdits: 3,
  bypassPermissions: 4,
}

// Spec R-AGENT-5.
/**
 * The mode that an agent has in place of its parent's; undefined for the same. It is never looser, but that a person's own definition may have
 * files edited without a question (`acceptEdits`) where its parent is in the mode `default`.
 */
export function modeOfAgent(
  { permissionMode: wanted, level }: Pick<AgentDefinition, 'permissionMode' | 'level'>,
  parent: PermissionMode,
): PermissionMode | undefined {
  if (wanted === undefined || wanted === parent) return undefined
  if (looseness[wanted] < looseness[parent]) return wanted
  const isOwn = level === 'user' || level === 'flag'
  return isOwn && parent === 'default' && wanted === 'acceptEdits' ? wanted : undefined
}
