import { isJsonObject } from './json.ts'

/** At most `limit` UTF-16 units from the start, without splitting a surrogate pair. */
export function headOf(text: string, limit: number): string {
  if (text.length <= limit) return text
  const end = isHighSurrogate(text.charCodeAt(limit - 1)) ? limit - 1 : limit
  return text.slice(0, Math.max(end, 0))
}

/** At most `limit` UTF-16 units from the end, without splitting a surrogate pair. */
export function tailOf(text: string, limit: number): string {
  if (text.length <= limit) return text
  if (limit <= 0) return ''
  const start = text.length - limit
  return text.slice(isLowSurrogate(text.charCodeAt(start)) ? start + 1 : start)
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff
}

/**
 * Whether a text matches a pattern in which `*` stands for any characters, including spaces and line ends. The time is
 * proportional to the text for each part of the pattern, so a text from a model cannot make it slow.
 */
export function matchesWildcard(pattern: string, text: string): boolean {
  const [first = '', ...rest] = pattern.split('*')
  const last = rest.pop()
  if (last === undefined) return text === pattern
  if (!text.startsWith(first) || text.length < first.length + last.length || !text.endsWith(last)) return false
  let at = first.length
  const end = text.length - last.length
  for (const part of rest) {
    const found = text.indexOf(part, at)
    if (found === -1 || found + part.length > end) return false
    at = found + part.length
  }
  return true
}

/** `3 items`, `1 item`. */
export function countOf(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`
}

// Defined in this file and not in a separate one: redaction has several entry points, and all of them load this file.

/**
 * The formats of known secrets, as the source of a regular expression. This is the only list, for all redaction. Use it
 * after a character that is not a letter or digit. Secrets may be truncated at the end of a text, so few letters suffice
 * where the prefix is unambiguous. Where the prefix also begins words of code, a digit or a capital letter is required.
 * No part of a format can match in two ways, so matching takes linear time. Public keys are not included.
 */
export const secretForms: string = [
  // Model services.
  'sk-ant-[\\w-]+',
  'sk-(?:proj|or|svcacct|admin|lf)-[\\w-]+',
  'sk-[A-Za-z0-9]{16,}',
  'gsk_(?=[a-z]*[A-Z0-9])[A-Za-z0-9]{8,}',
  'xai-[A-Za-z0-9]{16,}',
  'AIza[\\w-]{8,}',
  'hf_(?=[a-z]*[A-Z0-9])[A-Za-z0-9]{8,}',
  'pplx-[A-Za-z0-9]{16,}',
  'r8_[A-Za-z0-9]{16,}',
  // Clouds, code hosting and package registries.
  '(?:AKIA|ASIA)(?:[A-Z0-9]{16,}|(?=[A-Z]*[0-9])[A-Z0-9]{4,})',
  'gh[pousr]_[A-Za-z0-9]+',
  'github_pat_\\w+',
  'glpat-[\\w-]+',
  'npm_[A-Za-z0-9]{16,}',
  'pypi-Ag[\\w-]{14,}',
  'dop_v1_[a-f0-9]{8,}',
  'hv[bs]\\.(?=[A-Za-z_-]*\\d)[\\w-]{16,}',
  // Messaging and payment.
  'xox[abeoprs]-[\\w-]+',
  'xapp-\\d[\\w-]{7,}',
  '[sr]k_(?:live|test)_\\w+',
  'whsec_[\\w+/=]{8,}',
  'SG\\.(?:[\\w-]{22}\\.[\\w-]*|(?=[\\w-]*\\d)[\\w-]{16,}(?:\\.[\\w-]*)?)',
  // A JSON Web Token: three parts, the first of which is JSON.
  'eyJ[\\w-]{8,}\\.[\\w-]*(?:\\.[\\w-]*)?',
].join('|')

/**
 * Prefixes of keys that are sufficient where no code is expected, such as in an error of a service: a key of any format
 * follows them. In code, names may begin with these prefixes too.
 */
export const secretBeginnings: string = '(?:sk|pk|rk)[-_]|gsk_|xai-|pplx-|hf_|r8_|ghp_|github_pat_|AIza|AKIA|hvs\\.|eyJ'

/** The paths in a patch of `apply_patch`, joined by commas; undefined for another text. */
export function patchPaths(text: unknown): string | undefined {
  if (typeof text !== 'string' || !text.includes('*** Begin Patch')) return undefined
  const paths = [...text.matchAll(/^\*\*\* (?:Add|Update|Delete) File: (.+)$/gm)].map(([, path = '']) => path.trim())
  return paths.length === 0 ? undefined : paths.join(', ')
}

const summaryFields = ['command', 'file_path', 'task_id', 'pattern', 'url', 'query', 'description', 'prompt']

/**
 * The part of a call's input that identifies it for a person, such as its command or path. If no field does, the input's
 * JSON. May have several lines; '' if the input is not an object.
 */
export function inputSummary(input: unknown): string {
  if (!isJsonObject(input)) return ''
  const summaryField = summaryFields.map((name) => input[name]).find((value) => typeof value === 'string')
  const { seconds } = input
  return (
    summaryField ?? patchPaths(input['input']) ?? (typeof seconds === 'number' ? `${seconds} s` : JSON.stringify(input))
  )
}

/** Makes names unique: the second and later uses of a name get a number. Adding other names changes none of the results. */
export function uniqueNames(names: readonly string[]): readonly string[] {
  const taken = new Set<string>()
  return names.map((base) => {
    let name = base
    for (let number = 2; taken.has(name); number++) name = `${base}#${number}`
    taken.add(name)
    return name
  })
}
