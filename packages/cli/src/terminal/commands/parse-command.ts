import { nearest } from '../../flags/nearest.ts'

export type ReadCommand =
  /** No command: something to say. */
  | { readonly kind: 'prompt' }
  | { readonly kind: 'own'; readonly name: string; readonly argument: string }
  /** One that somebody wrote in a file, or a server has: it is a prompt. */
  | { readonly kind: 'written'; readonly name: string }
  | { readonly kind: 'unknown'; readonly says: string }

/** What a line with a slash at its beginning asks for. A path is no command. */
export function readCommand(text: string, own: readonly string[], written: readonly string[]): ReadCommand {
  const [, name = '', argument = ''] = /^\/([^\s/]+)(?:\s+([\s\S]*))?$/.exec(text.trim()) ?? []
  if (name === '') return { kind: 'prompt' }
  if (own.includes(name)) return { kind: 'own', name, argument: argument.trim() }
  if (written.includes(name)) return { kind: 'written', name }
  const meant = nearest(name, [...own, ...written])
  const hint = meant === undefined ? '/help lists the commands.' : `Did you mean /${meant}?`
  return { kind: 'unknown', says: `Unknown command /${name}. ${hint}` }
}
