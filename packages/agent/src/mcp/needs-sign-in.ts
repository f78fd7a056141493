/** A server that wants to know who is asking, and cannot be told so here. */
export class NeedsSignIn extends Error {}

/** How a person helps. What is not plain in a shell is not written for one. */
export function signInAdvice(name: string, canSignIn: boolean): string {
  const header = 'give it a header with a token'
  if (!canSignIn) return `it wants to know who is asking: ${header}`
  const command = /^[\w.-]+$/.test(name) ? `halting mcp login ${name}` : 'halting mcp login, with its name,'
  return `it wants to know who is asking: ${command} signs you in, or ${header}`
}
