import { secretBeginnings, secretForms } from '@halting/core/adapters'

const prefixedKey = new RegExp(`(?<![\\w-])(?:${secretBeginnings})[\\w.+/=-]{12,}`, 'g')
const knownForm = new RegExp(`(?<![A-Za-z0-9])(?:${secretForms})`, 'g')
const bearer = /\b(Bearer|Basic) {1,4}[\w.+/=~-]{8,}/gi

/** Replaces a secret. */
export const masked = '***'

/** Removes everything that has the shape of a key. */
export function withoutKeys(text: string): string {
  return text.replaceAll(prefixedKey, masked).replaceAll(knownForm, masked).replaceAll(bearer, `$1 ${masked}`)
}

export function hasKeyPrefix(text: string): boolean {
  return withoutKeys(text) !== text
}

/** Whether a text may be a key in the wrong place: no name or path has such a long part of letters and digits. */
export function mayBeKey(text: string): boolean {
  return hasKeyPrefix(text) || text.split(/[-._:/@\s]/).some((part) => part.length >= 16 && isMixed(part))
}

/** Removes words that may be keys from a text of unknown content. Paths are preserved. */
export function withoutMixedWords(text: string): string {
  return withoutKeys(text).replaceAll(/[^\s"'=:,;()<>]{12,}/g, (word) =>
    /^[/.~]/.test(word) || !isMixed(word) ? word : masked,
  )
}

function isMixed(word: string): boolean {
  return /\d/.test(word) && /[a-z]/i.test(word)
}

/** Returns an address for messages: its query may be a secret, and so may a path segment that looks like one. */
export function shownUrl(address: string): string {
  const end = address.search(/[?#]/)
  const place = end < 0 ? address : `${address.slice(0, end)}?…`
  if (place.includes('@') && !/^[a-z+.-]*:\/\/[^/@]*\//i.test(place)) return masked
  return place
    .split('/')
    .map((part) => (mayBeKey(part) && !part.includes('.') ? masked : withoutKeys(part)))
    .join('/')
    .slice(0, 300)
}
