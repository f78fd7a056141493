/** What takes the place of a secret. */
const redactedMark = '[REDACTED]'

/**
 * Secrets that are known by how they begin. They may be cut at the end of a text, so few letters are enough where the beginning says it all.
 * No part of a pattern can match in two ways, so a text takes the time of its length.
 */
const tokens = new RegExp(
  [
    // Services of models.
    'sk-ant-[\\w-]+',
    'sk-(?:proj|or|svcacct|admin|lf)-[\\w-]+',
    'sk-[A-Za-z0-9]{16,}',
    'gsk_[A-Za-z0-9]{8,}',
    'xai-[A-Za-z0-9]{16,}',
    'AIza[\\w-]{8,}',
    'hf_[A-Za-z0-9]{8,}',
    'pplx-[A-Za-z0-9]{16,}',
    'r8_[A-Za-z0-9]{16,}',
    // Clouds, code and packages.
    '(?:AKIA|ASIA)[A-Z0-9]{4,}',
    'gh[pousr]_[A-Za-z0-9]+',
    'github_pat_\\w+',
    'glpat-[\\w-]+',
    'npm_[A-Za-z0-9]{16,}',
    'pypi-[\\w-]{16,}',
    'dop_v1_[a-f0-9]{8,}',
    // Messages and money.
    'xox[abeoprs]-[\\w-]+',
    'xapp-[\\w-]{8,}',
    '[sr]k_(?:live|test)_\\w+',
    'whsec_[\\w+/=]{8,}',
    'SG\\.[\\w-]{16,}(?:\\.[\\w-]*)?',
    // A token of three parts, the first of which is JSON.
    'eyJ[\\w-]{8,}\\.[\\w-]*(?:\\.[\\w-]*)?',
  ]
    .map((pattern) => `(?<![A-Za-z0-9])${pattern}`)
    .join('|'),
  'g',
)

/** Secrets that are known by what stands before them, which stays. */
const named: readonly RegExp[] = [
  /(\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s:@/]{0,200}:)[^\s@/]{1,500}(?=@)/gi,
  /(\bauthorization["']?\s{0,4}[:=]\s{0,4}["']?(?:bearer|basic|token)\s{1,4})[\w.~+/=-]{4,}/gi,
  /(\b(?:x-api-key|api-key)["']?\s{0,4}[:=]\s{0,4}["']?)[\w.~+/=-]{8,}/gi,
  /(\b(?:aws_?)?(?:secret_?access_?key|session_?token)["']?\s{0,4}[:=]\s{0,4}["']?)[\w+/=]{8,}/gi,
  /(\bhooks\.slack\.com\/services\/)[\w/]+/g,
]

/** The text without the secrets that are known by their form. */
export function redactSecrets(text: string): string {
  let shown = withoutPrivateKeys(text).replaceAll(tokens, redactedMark)
  for (const pattern of named) shown = shown.replaceAll(pattern, `$1${redactedMark}`)
  return shown
}

const begin = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g
const end = /-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g
/** A private key is no longer, in characters: where its end was cut off, what follows goes up to here. */
const longestKey = 20_000

/** Blocks of private keys, also those of which the beginning or the end was cut off. */
function withoutPrivateKeys(text: string): string {
  if (!text.includes('PRIVATE KEY')) return text
  let out = ''
  let at = 0
  for (const { index, 0: mark } of text.matchAll(begin)) {
    if (index < at) continue
    out += withoutKeyEnd(text.slice(at, index)) + mark + redactedMark
    end.lastIndex = index
    const found = end.exec(text)
    at = found !== null && found.index - index <= longestKey ? found.index : Math.min(text.length, index + longestKey)
    if (found !== null && found.index === at) {
      out += found[0]
      at += found[0].length
    }
  }
  return out + withoutKeyEnd(text.slice(at))
}

/** The end of a key whose beginning was cut off. */
function withoutKeyEnd(text: string): string {
  end.lastIndex = 0
  const found = end.exec(text)
  if (found === null) return text
  let from = found.index
  while (from > 0 && /[A-Za-z0-9+/=\s]/.test(text[from - 1] ?? '')) from--
  return `${text.slice(0, from)}${redactedMark}${text.slice(found.index)}`
}
