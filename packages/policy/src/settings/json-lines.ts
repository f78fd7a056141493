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

/** A place of its own for each value, and no path as text: under a long key that would be the square of the file. */
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

/** Who has more of them is not helped by all. */
const maxRepeated = 20

/** Goes through a text that `JSON.parse` took, without recursion: settings files come from anybody. */
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
          // True: JSON.parse took the whole, so a string of it is one.
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
