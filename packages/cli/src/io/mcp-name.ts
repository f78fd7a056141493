/** Splits the name of an MCP tool: `mcp__calc__add` is the tool `add` of the server `calc`. Undefined for any other tool. */
export function mcpNameOf(toolName: string): { readonly server: string; readonly tool: string } | undefined {
  const [, server, tool] = /^mcp__(.+?)__(.+)$/.exec(toolName) ?? []
  return server === undefined || tool === undefined ? undefined : { server, tool }
}
