import type { PermissionMode } from '@halting/policy'
import type { AgentDefinition } from './definition.ts'

/** How much a mode permits without asking, from the strictest to the loosest. */
const looseness: { readonly [mode in PermissionMode]: number } = {
  plan: 0,
  dontAsk: 1,
  default: 2,
  acceptEdits: 3,
  bypassPermissions: 4,
}

// Spec R-AGENT-5.
/**
 * Returns the mode of an agent if it differs from its parent's mode; undefined if both are equal. An agent's mode is
 * never looser than its parent's, with one exception: an agent that the user defined may edit files without asking
 * (`acceptEdits`) when its parent is in mode `default`.
 */
export function modeOfAgent(
  { permissionMode: ownMode, level }: Pick<AgentDefinition, 'permissionMode' | 'level'>,
  parent: PermissionMode,
): PermissionMode | undefined {
  if (ownMode === undefined || ownMode === parent) return undefined
  if (looseness[ownMode] < looseness[parent]) return ownMode
  const isOwn = level === 'user' || level === 'flag'
  return isOwn && parent === 'default' && ownMode === 'acceptEdits' ? ownMode : undefined
}
