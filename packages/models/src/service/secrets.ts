import { isJsonObject } from '@halting/core/adapters'
import type { Json } from '@halting/core'
import { hasKeyPrefix, mayBeKey } from './secret-shapes.ts'

type Environment = Readonly<Record<string, string | undefined>>

const secretName = /key|token|secret|auth|passw|credential|cookie|signature|^sig$/i

export const shortestSecret = 8
export const longestWord = 16

/**
 * Placeholders such as `ollama` or `local`, for services without keys, are not secrets: messages and model names
 * contain such words.
 */
export function isSecret(text: string): boolean {
  return text.length >= shortestSecret && (text.length >= longestWord || !/^[a-z-]*$/.test(text))
}

/** Options of a model that may contain a secret. */
export interface Access {
  readonly apiKey?: string | undefined
  readonly authToken?: string | undefined
  readonly baseUrl?: string | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
}

export function secretsOf({ apiKey, authToken, baseUrl, headers = {} }: Access): readonly (string | undefined)[] {
  return [apiKey, authToken, ...secretsOfHeaders(headers), ...(baseUrl === undefined ? [] : secretsOfUrl(baseUrl))]
}

function secretsOfHeaders(headers: Readonly<Record<string, string | undefined>>): readonly string[] {
  return Object.entries(headers).flatMap(([name, value = '']) => {
    if (!secretName.test(name) && !hasKeyPrefix(value)) return []
    const [, bare] = /^(?:bearer|basic) +(.*)$/i.exec(value.trim()) ?? []
    return bare === undefined ? [value.trim()] : [value.trim(), bare]
  })
}

/**
 * Returns the secrets of an address: credentials, query values, encoded and decoded, and path segments that may be
 * keys.
 */
function secretsOfUrl(address: string): readonly string[] {
  if (!URL.canParse(address)) return []
  const { search, searchParams, pathname, username, password } = new URL(address)
  const query = [...searchParams].flatMap(([name, value]) => (secretName.test(name) || mayBeKey(value) ? [value] : []))
  const encoded = search
    .slice(1)
    .split('&')
    .map((field) => field.slice(field.indexOf('=') + 1))
    .filter((value) => mayBeKey(value))
  const path = pathname.split('/').filter((part) => mayBeKey(part) && !part.includes('.'))
  return [...query, ...encoded, ...path, ...userOf(username, password)]
}

/** Fields of an account file, such as Google's, that are not secret: they occur in files of any project. */
const publicName = /[cC]ache_?[kK]ey$|^type$|(?:_|^)(?:id|uri|url|email|domain)$|Id$|Ur[il]$|Email$|Domain$/

/** Fields with exactly such a name are secret even if short; others only contain such a word, as "tokenizer" does. */
const plainName = /(?:key|token|secret|password|credentials?)$/i

/**
 * Returns the secrets in options of a provider: values of fields with a secret name, at any depth, and secrets in
 * addresses.
 */
export function secretsOfOptions(value: Json, name = '', isWithinSecret = false): readonly string[] {
  const isNamed = !publicName.test(name) && secretName.test(name)
  if (typeof value === 'string') {
    const isHeld = isNamed || (isWithinSecret && !publicName.test(name))
    if (isHeld && (value.length >= longestWord || (plainName.test(name) && isSecret(value)))) return [value]
    return secretsOfUrl(value).filter(isSecret)
  }
  const isWithin = isWithinSecret || isNamed || /headers/i.test(name)
  if (Array.isArray(value)) {
    return (value as readonly Json[]).flatMap((inner) => secretsOfOptions(inner, name, isWithin))
  }
  if (!isJsonObject(value)) return []
  return Object.entries(value).flatMap(([inner, held = null]) => secretsOfOptions(held, inner, isWithin))
}

function userOf(username: string, password: string): readonly string[] {
  if (password === '') return mayBeKey(username) ? [username] : []
  const [user, word] = [decoded(username), decoded(password)]
  return [password, word, `${username}:${password}`, `${user}:${word}`]
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

const proxyVariables = ['https_proxy', 'HTTPS_PROXY', 'http_proxy', 'HTTP_PROXY', 'all_proxy', 'ALL_PROXY'] as const

/** Shorter passwords would match parts of ordinary words; together with the user name they are longer. */
const shortestPassword = 6

/** Returns the user name and password of the proxies. */
export function proxySecrets(env: Environment): readonly string[] {
  return proxyVariables.flatMap((variable) => {
    const value = env[variable]?.trim() ?? ''
    if (!value.includes('@')) return []
    const address = /^[a-z][a-z\d+.-]*:\/\//i.test(value) ? value : `http://${value}`
    if (URL.canParse(address)) return secretsOfUrl(address).filter((secret) => secret.length >= shortestPassword)
    return [value.slice(0, value.lastIndexOf('@')).replace(/^[a-z]*:\/\//i, '')]
  })
}

/** Returns keys that are set for this program or another: AI SDK providers read their own variables. */
export function secretsOfEnvironment(env: Environment): readonly string[] {
  return Object.entries(env).flatMap(([name, value = '']) =>
    /(key|token|secret|password|credentials?)$/i.test(name) && value.trim().length >= 16 ? [value.trim()] : [],
  )
}
