/** The one-line strings of a TOML file by their full names (`table.key`), and the names of its tables. */
export interface TomlTexts {
  readonly texts: ReadonlyMap<string, string>
  readonly tables: readonly string[]
}

/**
 * Reads tables and one-line strings of a TOML file, and skips everything else, so invalid files yield nothing. Used only
 * to inspect the settings of other programs.
 */
export function readTomlTexts(text: string): TomlTexts {
  const texts = new Map<string, string>()
  const tables: string[] = []
  let table = ''
  /** The delimiter that ends a multi-line string. */
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
    // The first value counts, since duplicate keys are invalid.
    if (literalText !== undefined && !texts.has(name)) texts.set(name, literalText)
  }
  return { texts, tables }
}

/** The parts of a dotted name without their quotes. */
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
    // True: basic strings of TOML are JSON strings, except for two escapes.
    return JSON.parse(basic) as string
  } catch {
    return undefined
  }
}
