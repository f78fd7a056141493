import { secretForms } from '../values/text.ts'

/** Replaces a secret in a redacted text. */
export const redactedMark = '[REDACTED]'

/** Matches secrets that no letter or digit precedes. `escapedTokens` matches the exceptions. */
const tokens = new RegExp(`(?<![A-Za-z0-9])(?:${secretForms})`, 'g')

/**
 * An escape, a percent code of a URL or a colour code may precede a secret: its last character may be a letter or digit.
 * Combined with the other pattern into one, matching takes 25 times as long.
 */
const escapedTokens = new RegExp(
  `(\\\\[a-z]|\\\\u[0-9a-fA-F]{4}|%[0-9a-fA-F]{2}|\\u001b\\[[0-9;]{0,20}m)(?:${secretForms})`,
  'g',
)

/** In JSON within JSON, backslashes precede a quotation mark. */
const quote = '\\\\{0,7}["\']'
const assigned = `(?:${quote})?\\s{0,4}[:=]\\s{0,4}`
/** An unquoted value that consists of letters only, or is a member access, is code that names the source of the secret. */
const quotedOrNoCode = `(?:${quote}|(?![A-Za-z_]+(?:\\.[A-Za-z_]|(?![\\w.~+/=-]))))`
/** Excludes a word of prose. */
const notProse = '(?![A-Z]?[a-z]{1,14}(?![\\w.~+/=-]))'

/** Secrets that are identified by the text before them, which is preserved. */
const precededSecrets: readonly RegExp[] = [
  /(\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s:@/]{0,200}:)[^\s@/]{1,500}(?=@)/gi,
  new RegExp(
    `((?:[Aa]uthorization|AUTHORIZATION)${assigned}(?:${quote})?(?:[Bb]earer|[Bb]asic|[Tt]oken|BEARER|BASIC|TOKEN)\\s{1,4})${notProse}[\\w.~+/=-]{4,}`,
    'g',
  ),
  new RegExp(`((?:x-api-key|api-key)${assigned}${quotedOrNoCode})[\\w.~+/=-]{8,}`, 'gi'),
  new RegExp(`((?:secret_?access_?key|session_?token)${assigned}${quotedOrNoCode})[\\w+/=]{8,}`, 'gi'),
  /(hooks\.slack\.com\/services\/)[\w/]+/g,
]

/** The text without secrets of known formats. */
export function redactSecrets(text: string): string {
  let redacted = withoutPrivateKeys(text)
    .replaceAll(tokens, redactedMark)
    .replaceAll(escapedTokens, `$1${redactedMark}`)
  for (const pattern of precededSecrets) redacted = redacted.replaceAll(pattern, `$1${redactedMark}`)
  return redacted
}

const begin = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g
const end = /-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g
/** Maximum length of a private key, in characters. */
const maxKeyLength = 20_000

/** Removes private keys, including those whose beginning or end was cut off. */
function withoutPrivateKeys(text: string): string {
  if (!text.includes('PRIVATE KEY')) return text
  let out = ''
  let at = 0
  let next: { readonly from: number; readonly to: number } | undefined
  for (const { index, 0: mark } of text.matchAll(begin)) {
    if (index < at) continue
    if (next === undefined || next.from < index) next = endAfter(text, index)
    const from = index + mark.length
    const isWhole = next.from - index <= maxKeyLength
    const keyEnd = isWhole ? next.from : cutKeyEnd(text, from)
    if (keyEnd === from) continue
    out += withoutKeyEnd(text.slice(at, index)) + mark + redactedMark
    at = keyEnd
    if (!isWhole) continue
    out += text.slice(next.from, next.to)
    at = next.to
  }
  return out + withoutKeyEnd(text.slice(at))
}

function endAfter(text: string, index: number): { readonly from: number; readonly to: number } {
  end.lastIndex = index
  const found = end.exec(text)
  return found === null ? { from: Infinity, to: Infinity } : { from: found.index, to: found.index + found[0].length }
}

/** A line of a key, whatever precedes the key text: a line number, a file name, a diff sign. */
const keyLine = /[A-Za-z0-9+/=]{40}/
const betweenKeyLines = /^[^A-Za-z0-9]*$|^.{0,80}\b(?:Proc-Type|DEK-Info|Comment|Version):/
/** The rest of a line at which the text was truncated. */
const cutLine = /^\S{0,100}\s{0,4}\S{1,100}\s*$/

/** The end of a key whose last line was truncated; `from` if no line matches. Code that contains the header line of a key has no such line. */
function cutKeyEnd(text: string, from: number): number {
  const window = text.slice(from, from + maxKeyLength)
  const other = window.indexOf('-----BEGIN')
  const key = other < 0 ? window : window.slice(0, other)
  let keyEnd = from
  let at = from
  for (const line of key.split(/(\r?\n|(?:\\r)?\\n)/)) {
    at += line.length
    const isCut = at === text.length && cutLine.test(line)
    if (keyLine.test(line) || isCut) keyEnd = at
    else if (!/^(?:\r?\n|(?:\\r)?\\n)$/.test(line) && !betweenKeyLines.test(line)) break
  }
  return keyEnd
}

/** Removes the end of a key whose beginning was truncated. */
function withoutKeyEnd(text: string): string {
  end.lastIndex = 0
  const found = end.exec(text)
  if (found === null) return text
  let from = found.index
  while (from > 0 && /[A-Za-z0-9+/=\s]/.test(text[from - 1] ?? '')) from--
  return `${text.slice(0, from)}${redactedMark}${text.slice(found.index)}`
}

type Redact = (text: string) => string

/** The same JSON with `redact` applied to every text and key. A value with nothing to redact is returned unchanged. */
export function redactedValue<T>(value: T, redact: Redact): T {
  // Each part is replaced by a value of the same type.
  return redacted(value, redact) as T
}

function redacted(value: unknown, redact: Redact): unknown {
  if (typeof value === 'string') return redact(value)
  if (typeof value !== 'object' || value === null) return value
  return Array.isArray(value) ? redactedList(value, redact) : redactedObject(value, redact)
}

/** All records pass through this function, and few contain a secret, so nothing is copied before one is found. */
function redactedList(list: readonly unknown[], redact: Redact): readonly unknown[] {
  let copy: unknown[] | undefined
  for (let index = 0; index < list.length; index++) {
    const part = redacted(list[index], redact)
    if (part !== list[index]) (copy ??= [...list])[index] = part
  }
  return copy ?? list
}

function redactedObject(object: object, redact: Redact): object {
  // Own keys of the object.
  const parts = object as { readonly [key: string]: unknown }
  const keys = Object.keys(parts)
  let changed: Map<string, unknown> | undefined
  let hasOtherKeys = false
  for (const key of keys) {
    const part = redacted(parts[key], redact)
    if (part !== parts[key]) (changed ??= new Map()).set(key, part)
    hasOtherKeys ||= redact(key) !== key
  }
  if (changed === undefined && !hasOtherKeys) return object
  // `fromEntries` defines its keys, so one named `__proto__` stays a key.
  return Object.fromEntries(
    keys.map((key) => [redact(key), changed?.has(key) === true ? changed.get(key) : parts[key]]),
  )
}
