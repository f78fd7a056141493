/** What a TOML file says in one-line texts, by their whole names (`table.key`), and which tables it has. */
export interface TomlTexts {
  readonly texts: ReadonlyMap<string, string>
  readonly tables: readonly string[]
}

/**
 * Reads of a TOML file what a line says by itself: tables, and keys with a text. Everything else is passed over, so that a file that is none gives
 * nothing. It is for looking at what another program was told, and decides nothing.
 */
export function readTomlTexts(text: string): TomlTexts {
  const texts = new Map<string, string>()
  const tables: string[] = []
  let table = ''
  /** The mark that ends a text of many lines. */
  let multilineEnd: string | undefined
  for (const raw of text.split(/\r\n|\n|\r/)) {
    const line = raw.trim()
    if (multilineEnd !== undefined) {
      if (line.includes(multilineEnd)) multilineEnd = undefined
      continue
    }
    const header = /^\[([^[\]]{1,200})\](?:\s*#.*)?$/.exec(line)?.[1]
    if (header !== undefined) {
      table = unquotedName(header)
      tables.push(table)
      continue
    }
    const equals = line.indexOf('=')
    if (equals < 1 || line.startsWith('#') || line.startsWith('[')) continue
    const value = line.slice(equals + 1).trim()
    const multiline = ['"""', "'''"].find((mark) => value.startsWith(mark))
    if (multiline !== undefined) {
      if (!value.slice(3).includes(multiline)) multilineEnd = multiline
      continue
    }
    const literalText = parseText(value)
    const key = unquotedName(line.slice(0, equals))
    const name = table === '' ? key : `${table}.${key}`
    // The first one counts: a key that stands twice is no TOML.
    if (literalText !== undefined && !texts.has(name)) texts.set(name, literalText)
  }
  return { texts, tables }
}

/** The parts of a name without the quotes around them. */
function unquotedName(written: string): string {
  return written
    .split('.')
    .map((part) => part.trim().replaceAll(/^["']|["']$/g, ''))
    .join('.')
}

function parseText(value: string): string | undefined {
  const literal = /^'([^']*)'/.exec(value)?.[1]
  if (literal !== undefined) return literal
  const basic = /^"(?:[^"\\]|\\.)*"/.exec(value)?.[0]
  if (basic === undefined) return undefined
  try {
    // True: it begins and ends as a text of JSON, whose escapes are those of TOML but for two.
    return JSON.parse(basic) as string
  } catch {
    return undefined
  }
}
