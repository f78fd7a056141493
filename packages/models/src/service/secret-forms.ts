import { masked } from './secret-shapes.ts'

/** A shorter one may be a word, and words are written in capitals and small letters alike. */
const longestWord = 16
/** Most secrets of which the forms are kept: more are in use nowhere. */
const mostCached = 500

/** A text without these secrets, as they are and in the forms in which a text may hold them. */
export function withoutForms(source: string, secrets: readonly string[]): string {
  let text = source
  const forms = secrets.flatMap(allForms)
  for (const form of forms.toSorted((a, b) => b.length - a.length)) text = withoutForm(text, form)
  return text
}

function withoutForm(text: string, form: string): string {
  if (form.length < longestWord) return text.includes(form) ? text.replaceAll(form, masked) : text
  const [lower, wanted] = [text.toLowerCase(), form.toLowerCase()]
  // A few letters have a longer small form: then places do not agree.
  if (lower.length !== text.length) return text.replaceAll(form, masked)
  let left = ''
  let end = 0
  for (let at = lower.indexOf(wanted); at >= 0; at = lower.indexOf(wanted, end)) {
    left += text.slice(end, at) + masked
    end = at + wanted.length
  }
  return left + text.slice(end)
}

/** A secret as JSON, an address or a page would write it. */
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

/** The forms that a secret has in what programs hand on: as it is, in JSON, in JSON within JSON, in an address, and in base64, also of a longer text. */
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
  if (formCache.size >= mostCached) formCache.clear()
  formCache.set(secret, forms)
  return forms
}

/** What stands for a secret in the base64 of a longer text, such as `name:password`, where so many bytes of a group come before it. */
function base64Within(secret: Buffer, offset: number): readonly string[] {
  const whole = Buffer.concat([Buffer.alloc(offset), secret])
  const [from, to] = [Math.ceil((offset * 8) / 6), Math.floor((whole.length * 8) / 6)]
  return [whole.toString('base64').slice(from, to), whole.toString('base64url').slice(from, to)]
}

/** A part of a secret that is as long as this is worth something to whoever finds it, if the secret is twice as long. */
const longestPart = 12
/** Every run of `longestPart` characters holds a whole one of these. */
const piece = 6

/** A text without long parts of a secret, such as services tell for it to be known again. */
export function withoutParts(source: string, secret: string): string {
  if (secret.length < 2 * longestPart) return source
  let text = source
  for (let start = 0; start + piece <= secret.length; start += piece) {
    text = withoutRuns(text, secret, start)
  }
  return text
}

function withoutRuns(text: string, secret: string, start: number): string {
  const wanted = secret.slice(start, start + piece)
  let left = ''
  let end = 0
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, Math.max(end, at + 1))) {
    let before = 0
    while (before < start && at - before > end && text[at - before - 1] === secret[start - before - 1]) before++
    let length = piece
    while (start + length < secret.length && text[at + length] === secret[start + length]) length++
    if (before + length < longestPart) continue
    left += text.slice(end, at - before) + masked
    end = at + length
  }
  return left + text.slice(end)
}
