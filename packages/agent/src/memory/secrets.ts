import { redactedMark, redactSecrets } from '@halting/core/redact'
import type { Environment } from '../tools/limits.ts'

/** Names of variables whose values are never stored. */
const secretName = /(?:KEY|TOKEN|SECRET|PASS(?:WORD|WD|PHRASE)?|CREDENTIALS?|AUTH|COOKIE|DSN|PAT)(?:_|$)/i
const leastSecretCharacters = 4
/** Shorter values match only as whole words: inside words, such values would match everywhere. */
const leastWithinWords = 6

const is = '(?:\\b(?:is|ist|are|was)\\b|:|=|->|→)\\s*'
/**
 * A word that announces a secret, and the value after it. After a password, any word counts; after a key, only a word
 * with a digit.
 */
const announcedSecrets: readonly RegExp[] = [
  new RegExp(`(\\b(?:password|passwort|passwd|passphrase|passcode|pwd|credentials?)\\b[^.!?\\n]{0,40}?${is})\\S+`, 'i'),
  new RegExp(
    `(\\b(?:secret|token|pin|(?:api|access|private|secret)[\\s_-]?key)\\b(?:\\s+(?:of|for|to|in)\\b[^.!?\\n]{0,40}?)?\\s*${is})["'\`]?\\S*\\d\\S*`,
    'i',
  ),
]

// Spec R-MEM-6.
/**
 * Returns why a text must not be stored; undefined if nothing in it looks like a secret. The result does not contain
 * the secret.
 */
export function secretIn(text: string, env: Environment): string | undefined {
  if (text.includes(redactedMark)) return 'it contains a secret'
  if (redactSecrets(text) !== text) return 'it contains a secret of a known format'
  const found = secretsOf(env).find(({ pattern }) => pattern.test(text))
  if (found !== undefined) return `it contains the value of ${found.name}`
  if (announcedSecrets.some((pattern) => pattern.test(text))) return 'it contains a password, a key or similar'
  if (/(?:\d[ -]?){13,}/.test(text)) return 'it contains a long number'
  return text.split(/[\s"'`,;()<>[\]{}]+/).some(looksRandom) ? 'it contains what looks like a key' : undefined
}

/**
 * A text with marks in place of secrets: known forms, values of variables, and announced values, also across lines and
 * sentences.
 */
export function withoutSecrets(text: string, env: Environment): string {
  const known = secretsOf(env).reduce((shown, { pattern }) => withMarks(shown, pattern), redactSecrets(text))
  return announcedSecrets.reduce((shown, pattern) => withMarks(shown, pattern, '$1'), known)
}

function withMarks(text: string, { source, flags }: RegExp, before = ''): string {
  return text.replaceAll(new RegExp(source, `${flags}g`), `${before}${redactedMark}`)
}

function secretsOf(env: Environment): readonly { readonly name: string; readonly pattern: RegExp }[] {
  return Object.entries(env).flatMap(([name, rawValue = '']) => {
    const value = rawValue.trim()
    if (!secretName.test(name) || value.length < leastSecretCharacters || isHarmless(value)) return []
    return [{ name, pattern: patternOf(value) }]
  })
}

/** Matches the value with any white space. */
function patternOf(value: string): RegExp {
  const words = value.split(/\s+/).map((word) => word.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&'))
  const all = words.join('\\s+')
  return new RegExp(value.length < leastWithinWords ? `(?<![\\p{L}\\p{N}])${all}(?![\\p{L}\\p{N}])` : all, 'u')
}

/** Whether a value is a path or a switch, which would match everywhere. */
function isHarmless(value: string): boolean {
  return /^(?:true|false|none|always|never|required|enabled|disabled)$/i.test(value) || /^[./~]/.test(value)
}

/** Whether a word is long, has mixed upper case, lower case and digits, and is not a path or an address. */
function looksRandom(word: string): boolean {
  if (/^[a-z][a-z+.-]*:\/\//i.test(word)) return word.split(/[/?&=#:@]/).some(looksRandom)
  const value = word.replace(/^[\w.-]{1,40}[=:]/, '')
  if (value.length < 20) return false
  if (!/^[\w+/=.~-]+$/.test(value) || (value.includes('/') && /\.\w{1,5}$/.test(value))) return false
  const hasAll = /[a-z]/.test(value) && /[A-Z]/.test(value) && /\d/.test(value)
  const isHex = /^[\da-f]{32,}$/i.test(value)
  return isHex || (hasAll && changesOf(value) >= 6)
}

/** Number of changes between letters and digits: names have few. */
function changesOf(value: string): number {
  let changes = 0
  for (let at = 1; at < value.length; at++)
    if (/\d/.test(value.charAt(at)) !== /\d/.test(value.charAt(at - 1))) changes++
  return changes
}
