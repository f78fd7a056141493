/** What a TOML file says in one-line texts, by their whole names (`table.key`), and which tables it has. */
export interface TomlTexts {
  readonly texts: ReadonlyMap<string, string>
  readonly tables: readonly string[]
}

/**
 * Reads of a TOML file what a line says by itself: tables, and keys with a text. Everything else is passed over, so that a file that is none gives
 * nothing. It is for looking at what another program was told, and decides nothing.
 */
export function tomlTexts(text: string): TomlTexts {
  const texts = new Map<string, string>()
  const tables: string[] = []
  let table = ''
  /** The mark that ends a text of many lines. */
  let within: string | undefined
  for (const raw of text.split(/\r\n|\n|\r/)) {
    const line = raw.trim()
    if (within !== undefined) {
      if (line.includes(within)) within = undefined
      continue
    }
    const header = /^\[([^[\]]{1,200})\](?:\s*#.*)?$/.exec(line)?.[1]
    if (header !== undefined) {
      table = nameOf(header)
      tables.push(table)
      continue
    }
    const equals = line.indexOf('=')
    if (equals < 1 || line.startsWith('#') || line.startsWith('[')) continue
    const value = line.slice(equals + 1).trim()
    const many = ['"""', "'''"].find((mark) => value.startsWith(mark))
    if (many !== undefined) {
      if (!value.slice(3).includes(many)) within = many
      continue
    }
    const said = textIn(value)
    const key = nameOf(line.slice(0, equals))
    const name = table === '' ? key : `${table}.${key}`
    // The first one counts: a key that stands twice is no TOML.
    if (said !== undefined && !texts.has(name)) texts.set(name, said)
  }
  return { texts, tables }
}

/** The parts of a name without the quotes around them. */
function nameOf(written: string): string {
  return written
    .split('.')
    .map((part) => part.trim().replaceAll(/^["']|["']$/g, ''))
    .join('.')
}

function textIn(value: string): string | undefined {
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
