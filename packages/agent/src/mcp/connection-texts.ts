// Why an MCP server is not connected or a request failed. Users read these too.

export const connectionClosed = 'the connection closed'
export const serverEnded = (how: string): string => `it ended (${how})`
export const largeMessage = 'it sent a message that is too large'
export const floods = 'it sent too much data too fast'

/** A name that a shell would read differently is not part of the command. */
const loginCommand = (server: string): string =>
  /^[\w.-]+$/.test(server) ? `\`halting mcp login ${server}\`` : '`halting mcp login` with its name'

/** How a user signs in. */
export function signInAdvice(server: string, canSignIn: boolean): string {
  const header = 'add a header with a token'
  return `authentication required: ${canSignIn ? `run ${loginCommand(server)}, or ${header}` : header}`
}

/** What a user does when a server requires more permissions than its sign-in, or the token in its header, has. */
export function moreScopeAdvice(server: string, canSignIn: boolean, scope: string | undefined): string {
  const missing = scope === undefined ? 'another permission' : `the permission ${JSON.stringify(scope.slice(0, 200))}`
  return `it requires ${missing}: ${canSignIn ? `run ${loginCommand(server)}` : 'use a header with a token that has it'}`
}
