import { createHash } from 'node:crypto'

/** What every service takes as the name of a tool. */
const maxNameLength = 64
const maxServerLength = 32

/**
 * A server's name as it stands in names of tools. Without two `_` in a row and none at its ends: `mcp__a__b` is the tool
 * `b` of the server `a`, and a rule for `mcp__a` speaks about no other server.
 */
export function validServerName(name: string): string {
  const valid = name
    .replace(/[^A-Za-z\d-]+/g, '_')
    .replace(/_+/g, '_')
    .replace(/^_|_$/g, '')
  return valid.length <= maxServerLength ? valid : `${valid.slice(0, maxServerLength - 7)}-${withHash(name)}`
}

/** `mcp__server__tool`, with letters, digits, `_` and `-` alone, and no longer than a service takes. */
export function mcpToolName(server: string, tool: string): string {
  const valid = `mcp__${validServerName(server)}__${tool.replace(/[^\w-]/g, '_')}`
  return valid.length <= maxNameLength ? valid : `${valid.slice(0, maxNameLength - 7)}-${withHash(tool)}`
}

/** Names that were told apart before they were made valid stay apart. */
export function uniqueToolName(server: string, tool: string, isTaken: (name: string) => boolean): string {
  const name = mcpToolName(server, tool)
  return isTaken(name) ? `${name.slice(0, maxNameLength - 7)}-${withHash(tool)}` : name
}

function withHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 6)
}
