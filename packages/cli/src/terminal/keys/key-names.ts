/** Modifiers in the order of key names. */
const modifiers = ['ctrl', 'shift', 'alt', 'super'] as const

const namedKeys = new Set(
  (
    'escape enter tab space backspace delete insert clear home end pageUp pageDown up down left right ' +
    'f1 f2 f3 f4 f5 f6 f7 f8 f9 f10 f11 f12'
  ).split(' '),
)
const aliases: ReadonlyMap<string, string> = new Map([
  ['esc', 'escape'],
  ['return', 'enter'],
  ['pageup', 'pageUp'],
  ['pagedown', 'pageDown'],
])

/** Most terminals send the same code for both keys. */
const sameKeys: { readonly [key: string]: string } = {
  'ctrl+i': 'tab',
  'ctrl+m': 'enter',
  'ctrl+[': 'escape',
  'ctrl+h': 'backspace',
  'ctrl+alt+[': 'escape',
}

export type ParsedKey =
  | { readonly kind: 'key'; readonly key: string }
  | { readonly kind: 'wrong'; readonly why: string }

/** Parses a key as a person writes it into its canonical name: `Shift+Ctrl+p` becomes `ctrl+shift+p`. */
export function parseKey(text: string): ParsedKey {
  const parts = text.trim().split(/\+(?=.)/)
  const last = parts.pop() ?? ''
  const pressed = parts.map((part) =>
    part
      .toLowerCase()
      .replace(/^control$/, 'ctrl')
      .replace(/^(?:meta|option)$/, 'alt'),
  )
  const unknown = pressed.find((part) => !modifiers.some((known) => known === part))
  if (unknown !== undefined)
    return { kind: 'wrong', why: `unknown modifier ${unknown}+ (modifiers: ${modifiers.join('+, ')}+)` }
  const base = baseOf(last)
  if (base === undefined) return { kind: 'wrong', why: `unknown key "${last}"` }
  if (pressed.length === 0 && base.length === 1 && base !== '?')
    return { kind: 'wrong', why: `"${base}" alone types a character and cannot be assigned` }
  const key = [...modifiers.filter((modifier) => pressed.includes(modifier)), base].join('+')
  const same = sameKeys[key]
  if (same !== undefined) return { kind: 'wrong', why: `terminals send the same code for it as for ${same}` }
  return { kind: 'key', key }
}

function baseOf(last: string): string | undefined {
  const name = aliases.get(last.toLowerCase()) ?? last
  if (namedKeys.has(name)) return name
  const lower = name.toLowerCase()
  if (namedKeys.has(lower)) return lower
  return /^[\u0021-\u007E]$/.test(name) ? lower : undefined
}

/** A key as a person reads it: `Ctrl+Shift+P`, `Alt+↑`. */
export function keyLabel(key: string): string {
  return key
    .split(/\+(?=.)/)
    .map(
      (part) =>
        keySigns[part] ?? (part.length === 1 ? part.toUpperCase() : part.charAt(0).toUpperCase() + part.slice(1)),
    )
    .join('+')
}

const keySigns: { readonly [name: string]: string } = {
  up: '↑',
  down: '↓',
  left: '←',
  right: '→',
  escape: 'Esc',
  pageUp: 'PgUp',
  pageDown: 'PgDn',
}
