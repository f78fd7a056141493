import { type Node, parseTree } from 'jsonc-parser'
import { ConfigurationError, type Json, type JsonObject } from '@halting/core'
import { isJsonObject } from '@halting/core/adapters'

/**
 * Changes one value in a JSON text and preserves the rest as written. Creates missing objects on the path. The text must be JSON with an object at
 * the top, or empty.
 */
export function withValue(text: string, path: readonly string[], value: Json): string {
  const unit = /^[ \t]+(?=")/m.exec(text)?.[0] ?? '  '
  const newline = text.includes('\r\n') ? '\r\n' : '\n'
  if (text.trim() === '') return `${renderValue(nestValue(path, value), '', { unit, newline })}${newline}`
  const changed = replaceAt(text, path, value, { unit, newline })
  // Parses the result, so that an unintended change is never written.
  JSON.parse(changed.replace(/^\uFEFF/, ''))
  return changed
}

/**
 * Removes the elements that equal this text from the list at this path, and preserves the rest as written. Returns the
 * text unchanged if the list has no such element. The text must be JSON with an object at the top, or empty.
 */
export function withoutText(text: string, path: readonly string[], element: string): string {
  if (text.trim() === '') return text
  const list = nodeAt(text, path)
  if (list?.type !== 'array') return text
  const elements = (list.children ?? []).map(spanOf)
  const gone = (list.children ?? []).map(({ value }) => value === element)
  const lastKept = gone.lastIndexOf(false)
  const lastElement = elements[lastKept]
  if (!gone.includes(true)) return text
  // Each element is removed with the comma after it; elements at the end of the list with the comma before them.
  const cuts = elements.flatMap(({ start }, index): readonly Span[] => {
    const next = elements[index + 1]
    return gone[index] === true && index < lastKept && next !== undefined ? [{ start, end: next.start }] : []
  })
  const last = elements.at(-1)
  const end =
    lastElement === undefined
      ? { start: list.offset + 1, end: spanOf(list).end - 1 }
      : { start: lastElement.end, end: last?.end ?? lastElement.end }
  let changed = ''
  let from = 0
  for (const cut of [...cuts, end]) {
    changed += text.slice(from, cut.start)
    from = cut.end
  }
  changed += text.slice(from)
  // Parses the result, so that an unintended change is never written.
  JSON.parse(changed.replace(/^\uFEFF/, ''))
  return changed
}

/** The value at a path: of a repeated key, the last occurrence counts, as for `JSON.parse`. */
function nodeAt(text: string, path: readonly string[]): Node | undefined {
  return path.reduce<Node | undefined>((node, key) => node && memberOf(node, key), jsonTree(text))
}

interface Style {
  readonly unit: string
  readonly newline: string
}

function replaceAt(text: string, path: readonly string[], value: Json, style: Style): string {
  let object = jsonTree(text)
  for (let depth = 0; ; depth++) {
    const [key = '', ...rest] = path.slice(depth)
    const found = memberOf(object, key)
    if (found === undefined) return withMember(text, object, [key, nestValue(rest, value)], style)
    if (rest.length > 0 && found.type === 'object') {
      object = found
      continue
    }
    const { start, end } = spanOf(found)
    const own = text.slice(start, end)
    const next = nestValue(rest, value)
    const isInline = Array.isArray(next) && own.startsWith('[') && !own.includes('\n') && own.length > 2
    const made = isInline ? inline(next) : renderValue(next, indentAt(text, start), style)
    return text.slice(0, start) + made + text.slice(end)
  }
}

/** A part of a text, by indexes: from its first character to the position after its last. */
interface Span {
  readonly start: number
  readonly end: number
}

function spanOf({ offset, length }: Node): Span {
  return { start: offset, end: offset + length }
}

function withMember(text: string, object: Node, [key, value]: readonly [string, Json], style: Style): string {
  const { start, end } = spanOf(object)
  const outer = indentAt(text, start)
  const inner = outer + style.unit
  const last = object.children?.at(-1)
  const own = text.slice(start, end)
  const isInline = last !== undefined && !own.includes('\n')
  const made = isInline ? inline(value) : renderValue(value, inner, style)
  const member = `${JSON.stringify(key)}: ${made}`
  if (last === undefined)
    return `${text.slice(0, start)}{${style.newline}${inner}${member}${style.newline}${outer}}${text.slice(end)}`
  const before = isInline ? ', ' : `,${style.newline}${inner}`
  const behind = spanOf(last).end
  return text.slice(0, behind) + before + member + text.slice(behind)
}

function nestValue(path: readonly string[], value: Json): Json {
  return path.toReversed().reduce<Json>((inner, key): JsonObject => ({ [key]: inner }), value)
}

function renderValue(value: Json, indent: string, { unit, newline }: Style): string {
  return JSON.stringify(value, undefined, unit).split('\n').join(`${newline}${indent}`)
}

function inline(value: Json): string {
  if (Array.isArray(value)) return `[${(value as readonly Json[]).map(inline).join(', ')}]`
  if (!isJsonObject(value)) return JSON.stringify(value)
  return `{ ${Object.entries(value)
    .map(([key, inner]) => `${JSON.stringify(key)}: ${inline(inner ?? null)}`)
    .join(', ')} }`
}

/** The indentation of the line that has this index. */
export function indentAt(text: string, at: number): string {
  const line = text.slice(text.lastIndexOf('\n', at) + 1, at)
  return /^[ \t]*/.exec(line)?.[0] ?? ''
}

/**
 * The syntax tree of a JSON text that holds an object, with offsets into the text.
 * @throws ConfigurationError for a text that is nested too deeply, or holds no object.
 */
export function jsonTree(text: string): Node {
  try {
    // A byte order mark is not part of JSON; a space keeps the offsets.
    const tree = parseTree(text.replace(/^\uFEFF/, ' '))
    if (tree?.type === 'object') return tree
  } catch (thrown) {
    if (!(thrown instanceof RangeError)) throw thrown
    throw new ConfigurationError('The JSON is nested too deeply to be changed.')
  }
  throw new ConfigurationError('The text does not contain a JSON object.')
}

/** The value of a member of an object: of a repeated key, the last occurrence counts, as for `JSON.parse`. */
function memberOf(object: Node, key: string): Node | undefined {
  if (object.type !== 'object') return undefined
  return object.children?.findLast(({ children }) => children?.[0]?.value === key)?.children?.[1]
}
