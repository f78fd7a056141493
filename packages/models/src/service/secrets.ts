import { isJsonObject } from '@halting/core/adapters'
import type { Json } from '@halting/core'
import { hasKeyPrefix, mayBeKey } from './secret-shapes.ts'

type Environment = Readonly<Record<string, string | undefined>>

const secretName = /key|token|secret|auth|passw|credential|cookie|signature|^sig$/i

export const shortestSecret = 8
export const longestWord = 16

/** Services that want no key are given a word, such as `ollama` or `local`: messages, and names of models, are made of such. */
export function isSecret(text: string): boolean {
  return text.length >= shortestSecret && (text.length >= longestWord || !/^[a-z-]*$/.test(text))
}

/** What a model is reached by, as far as it may hold a secret. */
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

/** What stands in its query or before its host, as it is written and as it is meant, and a part of its path that may be a key. */
function secretsOfUrl(address: string): readonly string[] {
  if (!URL.canParse(address)) return []
  const { search, searchParams, pathname, username, password } = new URL(address)
  const query = [...searchParams].flatMap(([name, value]) => (secretName.test(name) || mayBeKey(value) ? [value] : []))
  const written = search
    .slice(1)
    .split('&')
    .map((field) => field.slice(field.indexOf('=') + 1))
    .filter((value) => mayBeKey(value))
  const path = pathname.split('/').filter((part) => mayBeKey(part) && !part.includes('.'))
  return [...query, ...written, ...path, ...userOf(username, password)]
}

/** What an account's file, such as that of Google, says beside its key: it stands in files of any project. */
const publicName = /[cC]ache_?[kK]ey$|^type$|(?:_|^)(?:id|uri|url|email|domain)$|Id$|Ur[il]$|Email$|Domain$/

/** What stands under such a name is one though it is short: a word that is one by a part of its name, such as a tokenizer, is none. */
const plainName = /(?:key|token|secret|password|credentials?)$/i

/**
 * What options of a provider hold that nobody else may see: what stands under the name of a secret, whatever is in it, and what
 * stands in an address.
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

/** A shorter one cannot be told from the letters of a message; with the name before it, it is longer. */
const shortestPassword = 6

/** The name and password that a proxy wants. */
export function proxySecrets(env: Environment): readonly string[] {
  return proxyVariables.flatMap((variable) => {
    const value = env[variable]?.trim() ?? ''
    if (!value.includes('@')) return []
    const address = /^[a-z][a-z\d+.-]*:\/\//i.test(value) ? value : `http://${value}`
    if (URL.canParse(address)) return secretsOfUrl(address).filter((secret) => secret.length >= shortestPassword)
    return [value.slice(0, value.lastIndexOf('@')).replace(/^[a-z]*:\/\//i, '')]
  })
}

/** Keys that somebody set for this program or another: a provider of the AI SDK reads its own. */
export function secretsOfEnvironment(env: Environment): readonly string[] {
  return Object.entries(env).flatMap(([name, value = '']) =>
    /(key|token|secret|password|credentials?)$/i.test(name) && value.trim().length >= 16 ? [value.trim()] : [],
  )
}
