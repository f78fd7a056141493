import { masked } from './secret-shapes.ts'

/** Shorter secrets may be words, which are matched case-sensitively. */
const longestWord = 16
/** Maximum number of secrets whose forms are cached. */
const maxCached = 500

/** Removes secrets from a text, unencoded and in all known encodings. */
export function withoutForms(source: string, secrets: readonly string[]): string {
  let text = source
  const forms = secrets.flatMap(allForms)
  for (const form of forms.toSorted((a, b) => b.length - a.length)) text = withoutForm(text, form)
  return text
}

function withoutForm(text: string, form: string): string {
  if (form.length < longestWord) return text.includes(form) ? text.replaceAll(form, masked) : text
  const [lower, wanted] = [text.toLowerCase(), form.toLowerCase()]
  // A few letters have a longer lower-case form, so positions would differ.
  if (lower.length !== text.length) return text.replaceAll(form, masked)
  let redacted = ''
  let end = 0
  for (let at = lower.indexOf(wanted); at >= 0; at = lower.indexOf(wanted, end)) {
    redacted += text.slice(end, at) + masked
    end = at + wanted.length
  }
  return redacted + text.slice(end)
}

/** Returns a secret as JSON, an address, or HTML encodes it. */
export function writtenForms(secret: string): readonly string[] {
  const html = secret.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
  const quoted = html.replaceAll('"', '&quot;')
  const json = JSON.stringify(secret).slice(1, -1)
  return [
    ...new Set([
      secret,
      json,
      json.replaceAll('/', '\\/'),
      encodeURIComponent(secret),
      encodeURI(secret),
      html,
      quoted,
      quoted.replaceAll("'", '&#39;'),
      Buffer.from(secret).toString('base64'),
    ]),
  ]
}

/**
 * Returns a secret as programs pass it on: unencoded, in JSON, in nested JSON, in an address, and in base64, also of a
 * longer text.
 */
export function transmittedForms(secret: string): readonly string[] {
  const json = JSON.stringify(secret).slice(1, -1)
  const bytes = Buffer.from(secret)
  const within = [0, 1, 2].flatMap((offset) => base64Within(bytes, offset))
  return [...new Set([secret, json, JSON.stringify(json).slice(1, -1), encodeURIComponent(secret), ...within])]
}

const formCache = new Map<string, readonly string[]>()

function allForms(secret: string): readonly string[] {
  const before = formCache.get(secret)
  if (before !== undefined) return before
  const bytes = Buffer.from(secret)
  const spelled = (form: (code: number) => string): string => [...bytes].map(form).join('')
  const hex = (code: number): string => code.toString(16).padStart(2, '0')
  const forms = [
    ...writtenForms(secret),
    ...[0, 1, 2].flatMap((offset) => base64Within(bytes, offset)),
    bytes.toString('hex'),
    spelled((code) => `%${hex(code)}`),
    spelled((code) => `\\u00${hex(code)}`),
    spelled((code) => `&#${code};`),
    spelled((code) => `&#x${hex(code)};`),
  ]
  if (formCache.size >= maxCached) formCache.clear()
  formCache.set(secret, forms)
  return forms
}

/**
 * Returns the base64 form of a secret inside a longer text, such as `name:password`, for an offset within a group of
 * three bytes.
 */
function base64Within(secret: Buffer, offset: number): readonly string[] {
  const whole = Buffer.concat([Buffer.alloc(offset), secret])
  const [from, to] = [Math.ceil((offset * 8) / 6), Math.floor((whole.length * 8) / 6)]
  return [whole.toString('base64').slice(from, to), whole.toString('base64url').slice(from, to)]
}

/** A part of this length is worth protecting if the secret is at least twice as long. */
const longestPart = 12
/** Every run of `longestPart` characters contains a complete block of this length. */
const piece = 6

/** Removes long parts of a secret, which services show to identify it. */
export function withoutParts(source: string, secret: string): string {
  if (secret.length < 2 * longestPart) return source
  let text = source
  for (let start = 0; start + piece <= secret.length; start += piece) {
    text = withoutRuns(text, secret, start)
  }
  return text
}

function withoutRuns(text: string, secret: string, start: number): string {
  const pattern = secret.slice(start, start + piece)
  let redacted = ''
  let end = 0
  for (let at = text.indexOf(pattern); at >= 0; at = text.indexOf(pattern, Math.max(end, at + 1))) {
    let before = 0
    while (before < start && at - before > end && text[at - before - 1] === secret[start - before - 1]) before++
    let length = piece
    while (start + length < secret.length && text[at + length] === secret[start + length]) length++
    if (before + length < longestPart) continue
    redacted += text.slice(end, at - before) + masked
    end = at + length
  }
  return redacted + text.slice(end)
}
