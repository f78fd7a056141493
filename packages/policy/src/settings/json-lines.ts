/** The lines of the values of a JSON text, and its repeated keys. */
export interface JsonLines {
  /** The line of the value at this path, or of the closest value around it; counted from 1. */
  lineOf(path: readonly (string | number)[]): number
  /** Keys that occur more than once in an object: a reader may notice one occurrence, while `JSON.parse` uses the last one. */
  readonly repeated: readonly { readonly key: string; readonly line: number }[]
  readonly isTooDeep: boolean
}

/** Settings are flat: deeper nesting is an attack on parsers. */
const maxDepth = 64

/** The position of a value. One node per value replaces a path as text, because with a long key, paths would take quadratic space. */
class Place {
  line: number
  #inner: Map<string, Place> | undefined

  constructor(line: number) {
    this.line = line
  }

  at(name: string): Place | undefined {
    return this.#inner?.get(name)
  }

  begin(name: string, line: number): Place {
    this.#inner ??= new Map()
    const known = this.#inner.get(name)
    if (known !== undefined) return known
    const place = new Place(line)
    this.#inner.set(name, place)
    return place
  }
}

interface Level {
  readonly kind: '{' | '['
  readonly place: Place
  readonly keys: Set<string>
  next: string
  index: number
}

/** Maximum number of repeated keys in the result: more of them would not help the reader. */
const maxRepeated = 20

/** Scans a text that `JSON.parse` accepted, without recursion, as settings files may come from untrusted people. */
export function jsonLines(text: string): JsonLines {
  const whole = new Place(1)
  const repeated: { key: string; line: number }[] = []
  const levels: Level[] = []
  let line = 1
  let isTooDeep = false
  let awaitsKey = false
  const begin = (): Place => {
    const level = levels.at(-1)
    if (level === undefined) return whole
    return level.place.begin(level.kind === '[' ? String(level.index) : level.next, line)
  }
  for (let at = 0; at < text.length && !isTooDeep; at++) {
    const character = text[at]
    switch (character) {
      case '\n':
        line++
        break
      case '{':
      case '[':
        levels.push({ kind: character, place: begin(), keys: new Set(), next: '', index: 0 })
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
          // This cast is safe: `JSON.parse` accepted the text, so this is a string.
          level.next = JSON.parse(text.slice(at, end + 1)) as string
          if (level.keys.has(level.next) && repeated.length < maxRepeated) repeated.push({ key: level.next, line })
          level.keys.add(level.next)
          awaitsKey = false
          level.place.begin(level.next, line).line = line
        } else begin()
        at = end
        break
      }
      default:
        if (character !== undefined && /[\w-]/.test(character)) begin()
    }
  }
  return { lineOf: (path) => lineOf(whole, path), repeated, isTooDeep }
}

function lineOf(whole: Place, path: readonly (string | number)[]): number {
  let place = whole
  for (const part of path) {
    const inner = place.at(String(part))
    if (inner === undefined) break
    place = inner
  }
  return place.line
}

function endOfText(text: string, from: number): number {
  let at = from + 1
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1
  return at
}
