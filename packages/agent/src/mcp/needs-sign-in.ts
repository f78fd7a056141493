/** A server that wants to know who is asking, and cannot be told so here. */
export class NeedsSignIn extends Error {}

/** How a person helps. What is not plain in a shell is not written for one. */
export function signInAdvice(name: string, canSignIn: boolean): string {
  const header = 'give it a header with a token'
  if (!canSignIn) return `it wants to know who is asking: ${header}`
  return `it wants to know who is asking: ${loginCommand(name)} signs you in, or ${header}`
}

/** What a person does for a server that wants more than its sign-in, or the token in its header, allows. */
export function moreScopeAdvice(name: string, canSignIn: boolean, scope: string | undefined): string {
  const missing = scope === undefined ? 'a permission' : `the permission ${JSON.stringify(scope.slice(0, 200))}`
  const help = canSignIn ? `${loginCommand(name)} asks you for it` : 'give it a header with a token that has it'
  return `it wants ${missing}, which it was not given: ${help}`
}

function loginCommand(name: string): string {
  return /^[\w.-]+$/.test(name) ? `halting mcp login ${name}` : 'halting mcp login, with its name,'
}
