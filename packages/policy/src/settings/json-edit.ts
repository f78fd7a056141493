import type { Json, JsonObject } from '@halting/core'
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
  // Parse the result, so that an unintended change is never written.
  JSON.parse(changed.replace(/^\uFEFF/, ''))
  return changed
}

/**
 * Removes the elements that equal this text from the list at this path, and preserves the rest as written. Returns the text unchanged if there are
 * none. The text must be JSON with an object at the top, or empty.
 */
export function withoutText(text: string, path: readonly string[], element: string): string {
  if (text.trim() === '') return text
  const list = valueAt(text, path)
  if (list === undefined || text[list.start] !== '[') return text
  const elements = elementsOf(text, list)
  const isGone = ({ start, end }: Span): boolean =>
    text[start] === '"' && JSON.parse(text.slice(start, end)) === element
  const gone = elements.map(isGone)
  const lastKept = gone.lastIndexOf(false)
  const lastElement = elements[lastKept]
  if (!gone.includes(true)) return text
  // Each element is removed with the comma after it, the last ones with the comma before them.
  const cuts = elements.flatMap(({ start }, index): readonly Span[] => {
    const next = elements[index + 1]
    return gone[index] === true && index < lastKept && next !== undefined ? [{ start, end: next.start }] : []
  })
  const last = elements.at(-1)
  const end =
    lastElement === undefined
      ? { start: list.start + 1, end: list.end - 1 }
      : { start: lastElement.end, end: last?.end ?? lastElement.end }
  let changed = ''
  let from = 0
  for (const cut of [...cuts, end]) {
    changed += text.slice(from, cut.start)
    from = cut.end
  }
  changed += text.slice(from)
  // Parse the result, so that an unintended change is never written.
  JSON.parse(changed.replace(/^\uFEFF/, ''))
  return changed
}

function valueAt(text: string, path: readonly string[]): Span | undefined {
  let value: Span | undefined = spanAt(text, skipWhitespace(text, text.startsWith('\uFEFF') ? 1 : 0))
  for (const key of path) {
    if (value === undefined || text[value.start] !== '{') return undefined
    value = membersOf(text, value).findLast((member) => member.key === key)?.value
  }
  return value
}

function elementsOf(text: string, { start, end }: Span): readonly Span[] {
  const elements: Span[] = []
  for (let at = skipWhitespace(text, start + 1); at < end - 1;) {
    const element = spanAt(text, at)
    elements.push(element)
    at = skipWhitespace(text, skipWhitespace(text, element.end) + 1)
  }
  return elements
}

interface Style {
  readonly unit: string
  readonly newline: string
}

function replaceAt(text: string, path: readonly string[], value: Json, style: Style): string {
  let object = spanAt(text, skipWhitespace(text, text.startsWith('\uFEFF') ? 1 : 0))
  for (let depth = 0; ; depth++) {
    const [key = '', ...rest] = path.slice(depth)
    const members = membersOf(text, object)
    // Of a repeated key the last one counts.
    const found = members.findLast((member) => member.key === key)
    if (found === undefined) return withMember(text, object, members, [key, nestValue(rest, value)], style)
    if (rest.length > 0 && text[found.value.start] === '{') {
      object = found.value
      continue
    }
    const own = text.slice(found.value.start, found.value.end)
    const next = nestValue(rest, value)
    const isInline = Array.isArray(next) && own.startsWith('[') && !own.includes('\n') && own.length > 2
    const made = isInline ? renderInline(next) : renderValue(next, indentAt(text, found.value.start), style)
    return text.slice(0, found.value.start) + made + text.slice(found.value.end)
  }
}

/** A part of a JSON text, by character index. */
export interface Span {
  /** Index of its first character. */
  readonly start: number
  /** Index after its last character. */
  readonly end: number
}

/** A member of a JSON object: its key, and the position of its value. */
export interface Member {
  /** The key. */
  readonly key: string
  /** Position of the value. */
  readonly value: Span
}

function withMember(
  text: string,
  object: Span,
  members: readonly Member[],
  [key, value]: readonly [string, Json],
  style: Style,
): string {
  const outer = indentAt(text, object.start)
  const inner = outer + style.unit
  const last = members.at(-1)
  const own = text.slice(object.start, object.end)
  const isInline = last !== undefined && !own.includes('\n')
  const made = isInline ? renderInline(value) : renderValue(value, inner, style)
  const member = `${JSON.stringify(key)}: ${made}`
  if (last === undefined)
    return `${text.slice(0, object.start)}{${style.newline}${inner}${member}${style.newline}${outer}}${text.slice(object.end)}`
  const before = isInline ? ', ' : `,${style.newline}${inner}`
  return text.slice(0, last.value.end) + before + member + text.slice(last.value.end)
}

function nestValue(path: readonly string[], value: Json): Json {
  return path.toReversed().reduce<Json>((inner, key): JsonObject => ({ [key]: inner }), value)
}

function renderValue(value: Json, indent: string, { unit, newline }: Style): string {
  return JSON.stringify(value, undefined, unit).split('\n').join(`${newline}${indent}`)
}

function renderInline(value: Json): string {
  if (Array.isArray(value)) return `[${(value as readonly Json[]).map(renderInline).join(', ')}]`
  if (!isJsonObject(value)) return JSON.stringify(value)
  return `{ ${Object.entries(value)
    .map(([key, inner]) => `${JSON.stringify(key)}: ${renderInline(inner ?? null)}`)
    .join(', ')} }`
}

/** The indentation of the line that contains this index. */
export function indentAt(text: string, at: number): string {
  const line = text.slice(text.lastIndexOf('\n', at) + 1, at)
  return /^[ \t]*/.exec(line)?.[0] ?? ''
}

/** The index of the first character that is not white space, from this one on. */
export function skipWhitespace(text: string, from: number): number {
  let at = from
  while (/\s/.test(text[at] ?? '')) at++
  return at
}

/** The extent of the value that begins here. The text must be JSON. */
export function spanAt(text: string, start: number): Span {
  const first = text[start]
  if (first === '"') return { start, end: endOfText(text, start) }
  if (first !== '{' && first !== '[')
    return { start, end: start + (/^[\w.+-]+/.exec(text.slice(start))?.[0].length ?? 0) }
  let depth = 0
  for (let at = start; at < text.length; at++) {
    const character = text[at]
    if (character === '"') at = endOfText(text, at) - 1
    else if (character === '{' || character === '[') depth++
    else if ((character === '}' || character === ']') && --depth === 0) return { start, end: at + 1 }
  }
  return { start, end: text.length }
}

function endOfText(text: string, from: number): number {
  let at = from + 1
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1
  return at + 1
}

/** The members of the object with this extent. */
export function membersOf(text: string, { start, end }: Span): readonly Member[] {
  const members: Member[] = []
  let at = skipWhitespace(text, start + 1)
  while (at < end - 1) {
    const name = spanAt(text, at)
    const value = spanAt(text, skipWhitespace(text, skipWhitespace(text, name.end) + 1))
    // True: the text is JSON, so a key is a string.
    members.push({ key: JSON.parse(text.slice(name.start, name.end)) as string, value })
    at = skipWhitespace(text, skipWhitespace(text, value.end) + 1)
  }
  return members
}
