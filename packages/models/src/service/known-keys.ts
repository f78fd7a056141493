import type { JsonObject } from '@halting/core'
import { cloudSecretVariables, keyVariables } from '../known-models.ts'
import { transmittedForms } from './secret-forms.ts'
import { isSecret, secretsOf, secretsOfOptions } from './secrets.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** What stands in place of a key in what a session shows and stores. */
export const redactedMark = '[REDACTED]'
/** A key helper gives new ones as long as the program lives; older ones are of no use to anybody. */
const mostKeys = 64

/** What models of this process are reached by: keys of options, of headers and addresses, and what a helper gave. */
const keysInProcess = new Set<string>()
/** Which set of them it is: texts are many, and keys seldom change. */
let version = 0

/** Notes a key that requests of this process are made with: `createKeyRedactor` takes it out from then on. */
export function noteKeyInUse(key: string): void {
  if (!keysInProcess.has(key)) version++
  keysInProcess.delete(key)
  keysInProcess.add(key)
  const [oldest] = keysInProcess
  if (keysInProcess.size > mostKeys && oldest !== undefined) keysInProcess.delete(oldest)
}

/** Notes all that options of a provider package of the AI SDK hold of keys: `createKeyRedactor` takes it out from then on. */
export function noteSecretsOfOptions(options: JsonObject): void {
  for (const secret of secretsOfOptions(options)) noteKeyInUse(secret)
}

/** The keys that were noted, as they are. */
export function keysInUse(): ReadonlySet<string> {
  return keysInProcess
}

/**
 * Takes the keys out of a text that this program itself uses, as they are, and in the forms that JSON, addresses and base64 give them: those that
 * the environment names for services of models, and those that models of this process were reached by until now.
 */
export function createKeyRedactor(env: Environment): (text: string) => string {
  const formsNow = keyForms(env)
  return (text) => {
    let redacted = text
    for (const form of formsNow()) if (redacted.includes(form)) redacted = redacted.replaceAll(form, redactedMark)
    return redacted
  }
}

/** The forms of the keys that `createKeyRedactor` takes out, as of the moment of the call, the longest first. */
export function keyForms(env: Environment): () => readonly string[] {
  const named = keysOf(env)
  let madeFor: number | undefined
  let forms: readonly string[] = []
  return () => {
    if (madeFor === version) return forms
    madeFor = version
    forms = [...new Set([...named, ...keysInProcess].flatMap(transmittedForms))].toSorted(
      (one, other) => other.length - one.length,
    )
    return forms
  }
}

function keysOf(env: Environment): readonly string[] {
  const { ANTHROPIC_CUSTOM_HEADERS: lines = '' } = env
  const headers = Object.fromEntries(
    lines.split(/\r?\n/).map((line) => [line.slice(0, line.indexOf(':')).trim(), line.slice(line.indexOf(':') + 1)]),
  )
  const named = [...keyVariables(), ...cloudSecretVariables].filter((name) => name !== 'ANTHROPIC_CUSTOM_HEADERS')
  const secrets = [...named.map((name) => env[name]), ...secretsOf({ headers })].map((secret) => secret?.trim() ?? '')
  return [...new Set(secrets)].filter(isSecret)
}
