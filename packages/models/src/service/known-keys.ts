import type { JsonObject } from '@halting/core'
import { cloudSecretVariables, keyVariables } from '../known-models.ts'
import { transmittedForms } from './secret-forms.ts'
import { isSecret, secretsOf, secretsOfOptions } from './secrets.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** Replaces a key in what a session shows and stores. */
export const redactedMark = '[REDACTED]'
/** A key helper supplies new keys as long as the program runs; older ones are no longer needed. */
const maxKeys = 64

/** Keys that models of this process use: from options, headers, addresses and key helpers. */
const keysInProcess = new Set<string>()
/** Version of the set of keys. The set changes rarely compared with the number of texts. */
let version = 0

/** Registers a key of this process's requests; `createKeyRedactor` removes it from then on. */
export function noteKeyInUse(key: string): void {
  if (!keysInProcess.has(key)) version++
  keysInProcess.delete(key)
  keysInProcess.add(key)
  const [oldest] = keysInProcess
  if (keysInProcess.size > maxKeys && oldest !== undefined) keysInProcess.delete(oldest)
}

/** Registers all keys in options of an AI SDK provider package; `createKeyRedactor` removes them from then on. */
export function noteSecretsOfOptions(options: JsonObject): void {
  for (const secret of secretsOfOptions(options)) noteKeyInUse(secret)
}

/** The registered keys, unencoded. */
export function keysInUse(): ReadonlySet<string> {
  return keysInProcess
}

/**
 * Creates a function that removes the program's own keys from a text, unencoded and as JSON, addresses and base64
 * encode them. The keys are those that the environment names for model services, and those that models of this process
 * have used so far.
 */
export function createKeyRedactor(env: Environment): (text: string) => string {
  const formsNow = keyForms(env)
  return (text) => {
    let redacted = text
    for (const form of formsNow()) if (redacted.includes(form)) redacted = redacted.replaceAll(form, redactedMark)
    return redacted
  }
}

/** Returns a function that lists the forms that `createKeyRedactor` removes at the time of the call, longest first. */
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
