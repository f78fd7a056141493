/** Where the values of a JSON text begin, and which keys stand twice. */
export interface JsonLines {
  /** The line of the value at this path, or of the nearest one around it; from 1. */
  lineOf(path: readonly (string | number)[]): number
  /** Keys that an object has twice: a reader sees one, and `JSON.parse` takes the last. */
  readonly repeated: readonly { readonly key: string; readonly line: number }[]
  readonly isTooDeep: boolean
}

/** Settings are flat: what is deeper was made to break readers. */
const maxDepth = 64

interface Level {
  readonly kind: '{' | '['
  readonly path: string
  readonly keys: Set<string>
  next: string
  index: number
}

/** Goes through a text that `JSON.parse` took, without recursion: settings files come from anybody. */
export function jsonLines(text: string): JsonLines {
  const lines = new Map<string, number>()
  const repeated: { key: string; line: number }[] = []
  const levels: Level[] = []
  let line = 1
  let isTooDeep = false
  let awaitsKey = false
  const begin = (): string => {
    const level = levels.at(-1)
    if (level === undefined) return ''
    const path = `${level.path}${separator}${level.kind === '[' ? String(level.index) : level.next}`
    if (!lines.has(path)) lines.set(path, line)
    return path
  }
  for (let at = 0; at < text.length && !isTooDeep; at++) {
    const character = text[at]
    switch (character) {
      case '\n':
        line++
        break
      case '{':
      case '[':
        levels.push({ kind: character, path: begin(), keys: new Set(), next: '', index: 0 })
        awaitsKey = character === '{'
        isTooDeep = levels.length > maxDepth
        break
      case '}':
      case ']':
        levels.pop()
        awaitsKey = false
        break
      case ',': {
        const level = levels.at(-1)
        if (level?.kind === '[') level.index++
        awaitsKey = level?.kind === '{'
        break
      }
      case '"': {
        const end = endOfText(text, at)
        const level = levels.at(-1)
        if (awaitsKey && level !== undefined) {
          // True: JSON.parse took the whole, so a string of it is one.
          level.next = JSON.parse(text.slice(at, end + 1)) as string
          if (level.keys.has(level.next)) repeated.push({ key: level.next, line })
          level.keys.add(level.next)
          awaitsKey = false
          lines.set(`${level.path}${separator}${level.next}`, line)
        } else begin()
        at = end
        break
      }
      default:
        if (character !== undefined && /[\w-]/.test(character)) begin()
    }
  }
  return { lineOf: (path) => lineOf(lines, path), repeated, isTooDeep }
}

const separator = '\u0000'

function lineOf(lines: ReadonlyMap<string, number>, path: readonly (string | number)[]): number {
  for (let length = path.length; length > 0; length--) {
    const line = lines.get(
      path
        .slice(0, length)
        .map((part) => `${separator}${part}`)
        .join(''),
    )
    if (line !== undefined) return line
  }
  return 1
}

function endOfText(text: string, from: number): number {
  let at = from + 1
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1
  return at
}
