import { createHash } from 'node:crypto'

/** The longest tool name that every service accepts. */
const maxNameLength = 64
const maxServerLength = 32

/**
 * A server name as part of tool names. The result contains no `__` and has no `_` at its start or end, so `mcp__a__b` is
 * always the tool `b` of the server `a`, and a rule for `mcp__a` applies to no other server.
 */
export function validServerName(name: string): string {
  const valid = name
    .replace(/[^A-Za-z\d-]+/g, '_')
    .replace(/_+/g, '_')
    .replace(/^_|_$/g, '')
  return valid.length <= maxServerLength ? valid : `${valid.slice(0, maxServerLength - 7)}-${withHash(name)}`
}

/** `mcp__server__tool`, with letters, digits, `_` and `-` only, and no longer than model services accept. */
export function mcpToolName(server: string, tool: string): string {
  const valid = `mcp__${validServerName(server)}__${tool.replace(/[^\w-]/g, '_')}`
  return valid.length <= maxNameLength ? valid : `${valid.slice(0, maxNameLength - 7)}-${withHash(tool)}`
}

/** A valid tool name. Different names stay different after invalid characters are replaced. */
export function uniqueToolName(server: string, tool: string, isTaken: (name: string) => boolean): string {
  const name = mcpToolName(server, tool)
  return isTaken(name) ? `${name.slice(0, maxNameLength - 7)}-${withHash(tool)}` : name
}

function withHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 6)
}
