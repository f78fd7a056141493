import type { Document } from 'yaml'
import { headOf } from '@halting/core/adapters'

/** A YAML value with every scalar as text: `true` and `3` remain as typed. */
type FrontMatterValue = string | readonly FrontMatterValue[] | { readonly [name: string]: FrontMatterValue }

/** The fields of a header, by name in lower case. */
export type FrontMatter = ReadonlyMap<string, FrontMatterValue>

/** A text with a header, such as an agent, a command or a skill. */
export interface WithFrontMatter {
  readonly fields: FrontMatter
  /** The text below the header. */
  readonly body: string
  /**
   * Descriptions of lines that could not be parsed. They are for files whose fields restrict something: an unread
   * field would restrict nothing.
   */
  readonly problems: readonly string[]
}

/** Splits a text into the header between two lines of `---` (undefined if missing) and the text below the header. */
export function splitFrontMatter(text: string): { readonly header: string | undefined; readonly body: string } {
  const found = /^---[ \t]*\r?\n([\s\S]*?)(?:^|\r?\n)---[ \t]*(?:\r?\n|$)/.exec(text)
  if (found === null) return { header: undefined, body: text.trim() }
  const [whole, header = ''] = found
  return { header, body: text.slice(whole.length).trim() }
}

/**
 * Parses the header of a text as YAML 1.2. A header that is not valid YAML is parsed field by field, after repairing what other agents accept too:
 * a colon or a special character in a plain text, and a description that continues in lines without indentation, unless such a line begins with the
 * name of a field.
 *
 * @param isField Whether a word is the name of a field, or a likely misspelling of one.
 */
export async function parseFrontMatter(
  text: string,
  isField: (word: string) => boolean = () => false,
): Promise<WithFrontMatter> {
  const { header, body } = splitFrontMatter(text)
  if (header === undefined) return { fields: new Map(), body, problems: [] }
  if (isTooDeep(header)) return { fields: new Map(), body, problems: ['its header is nested too deeply'] }
  const { parseDocument } = await import('yaml')
  const parse = (part: string): ParsedPart =>
    parsedPart(parseDocument(part, { schema: 'failsafe', logLevel: 'silent' }), part)
  const whole = parse(header)
  if (whole.problem === undefined) return { ...whole, body, problems: [] }
  const fields = new Map<string, FrontMatterValue>()
  const problems: string[] = []
  for (const chunk of fieldChunks(header.split(/\r?\n/), isField)) {
    const asWritten = parse(chunk.lines.join('\n'))
    const part = asWritten.problem === undefined ? asWritten : parse(repaired(chunk))
    if (part.problem !== undefined) problems.push(part.problem)
    for (const [name, value] of part.fields) {
      if (fields.has(name)) problems.push(`the field ${name} is given twice`)
      fields.set(name, value)
    }
  }
  return { fields, body, problems }
}

/**
 * Maximum nesting of a header. A recursive parser overflows the stack at deep nesting, and no header that people write
 * has so many levels.
 */
const deepest = 100

function isTooDeep(header: string): boolean {
  if (new RegExp(`(?:[-?:][ \\t]+){${deepest}}`).test(header)) return true
  let depth = 0
  for (const character of header) {
    if (character === '[' || character === '{') depth++
    if (character === ']' || character === '}') depth = Math.max(0, depth - 1)
    if (depth > deepest) return true
  }
  return false
}

interface ParsedPart {
  readonly fields: FrontMatter
  readonly problem?: string
}

function parsedPart(document: Document.Parsed, text: string): ParsedPart {
  const [error] = document.errors
  if (error !== undefined) {
    const line = text.split(/\r?\n/)[(error.linePos?.[0].line ?? 1) - 1] ?? ''
    return { fields: new Map(), problem: `cannot parse the line ${JSON.stringify(headOf(line, 100))}` }
  }
  const value = valueOf(document)
  if (value === undefined) return { fields: new Map(), problem: 'an alias refers to nothing, or to too much' }
  // A header that consists only of comments has no fields.
  if (value === '') return { fields: new Map() }
  if (typeof value === 'string' || Array.isArray(value))
    return { fields: new Map(), problem: `cannot parse the line ${JSON.stringify(headOf(text, 100))}` }
  return { fields: new Map(Object.entries(value).map(([name, each]) => [name.toLowerCase(), trimmed(each)])) }
}

/** Undefined for aliases that cannot be resolved, or that multiply without bound. */
function valueOf(document: Document.Parsed): FrontMatterValue | undefined {
  try {
    // The failsafe schema has texts, lists and maps only; an empty document is null.
    return (document.toJS({ maxAliasCount: 100 }) as FrontMatterValue | null) ?? ''
  } catch {
    return undefined
  }
}

function trimmed(value: FrontMatterValue): FrontMatterValue {
  return typeof value === 'string' ? value.trim() : value
}

/** The lines of one field; those before the first field have no name. */
interface FieldChunk {
  readonly name: string | undefined
  readonly lines: string[]
}

/** Splits a header at the lines that begin a field. A description includes its prose and its examples. */
function fieldChunks(lines: readonly string[], isField: (word: string) => boolean): readonly FieldChunk[] {
  const chunks: FieldChunk[] = []
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? ''
    const name = /^(?:"([\w-]+)"|([\w-]+))\s*:(?:\s|$)/
      .exec(line)
      ?.slice(1)
      .find((each) => each !== undefined)
    const last = chunks.at(-1)
    if (name !== undefined) chunks.push({ name: name.toLowerCase(), lines: [line] })
    else if (last === undefined) chunks.push({ name: undefined, lines: [line] })
    else {
      const example = last.name === 'description' ? exampleLength(lines.slice(at)) : 0
      last.lines.push(...lines.slice(at, at + Math.max(example, 1)))
      at += Math.max(example, 1) - 1
    }
  }
  return chunks.flatMap((chunk) => (isRepairable(chunk, isField) ? [chunk] : separated(chunk)))
}

/** Returns how many lines the example that begins here has; an example may contain anything. */
function exampleLength(lines: readonly string[]): number {
  if (!/^\s*<example\b/i.test(lines[0] ?? '')) return 0
  return lines.findIndex((line) => /<\/example>/i.test(line)) + 1
}

/**
 * Whether the lines after the first belong to the same field: they are indented, items of a list, or prose of a
 * description.
 */
function isRepairable({ name, lines }: FieldChunk, isField: (word: string) => boolean): boolean {
  let example = 0
  return lines.slice(1).every((line, at) => {
    if (example === 0 && name === 'description') example = exampleLength(lines.slice(at + 1))
    if (example > 0) {
      example--
      return true
    }
    if (/^\s|^$|^#|^- /.test(line)) return true
    const [word = ''] = /[\w-]+/.exec(line) ?? []
    return name === 'description' && !isField(word)
  })
}

/** Reports lines that belong to no field individually: such a line may be a field with a typing error. */
function separated({ name, lines }: FieldChunk): readonly FieldChunk[] {
  const isOwn = (line: string, at: number): boolean => at === 0 || /^\s|^$|^#|^- /.test(line)
  const own = lines.filter(isOwn)
  const others = lines.filter((line, at) => !isOwn(line, at))
  return [{ name, lines: own }, ...others.map((line) => ({ name: undefined, lines: [line] }))]
}

/**
 * Returns a field as valid YAML: quotes its text if the value is a plain text that YAML does not accept. Leaves the
 * field unchanged if lines below look like separate fields, and for a list or a map, whose intended value cannot be
 * known. An argument hint is a text even if it contains brackets.
 */
function repaired({ name, lines: [first = '', ...below] }: FieldChunk): string {
  const [, head = '', value = ''] = /^([^:]*:)\s*(.*)$/.exec(first) ?? []
  const unchanged = [first, ...below].join('\n')
  const isText = name === 'argument-hint' || name === 'description' ? /^[^|>]/ : /^[^|>[{"'&!]/
  const hasFields = below.some((line) => /^\s+["']?[\w-]+["']?\s*:(?:\s|$)/.test(line))
  if (name === undefined || !isText.test(value) || hasFields) return unchanged
  // Matches a single blank: a pattern that matches all blanks would start again at each one.
  const text = [value, ...below.map((line) => line.trim())]
    .join(' ')
    .trim()
    .replace(/\s#[\s\S]*$/, '')
  return `${head} ${JSON.stringify(text)}`
}

/** Splits a text at the commas outside brackets and quotes: `Bash(git add:*), Read`. */
function partsOf(text: string): readonly string[] {
  const parts: string[] = []
  let [depth, quote, start] = [0, '', 0]
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at)
    if (quote !== '') quote = character === quote ? '' : quote
    else if (character === '"' || character === "'") quote = character
    else if (character === '(') depth++
    else if (character === ')') depth = Math.max(0, depth - 1)
    else if (character === ',' && depth === 0) {
      parts.push(text.slice(start, at))
      start = at + 1
    }
  }
  return [...parts, text.slice(start)].map((part) => part.trim()).filter((part) => part !== '')
}

/** Returns the value of a field as one text; '' for a missing field. */
export function textField(fields: FrontMatter, name: string): string {
  const value = fields.get(name) ?? ''
  if (typeof value === 'string') return value
  return Array.isArray(value) ? value.map(textOf).join(', ') : JSON.stringify(value)
}

/** Returns the value of a field as a list: a YAML list, or a text with commas. */
export function listField(fields: FrontMatter, name: string): readonly string[] {
  const value = fields.get(name) ?? []
  if (typeof value === 'string') return partsOf(value)
  if (!Array.isArray(value)) return [JSON.stringify(value)]
  // In brackets, YAML splits `Bash(a, b)` at its comma.
  const items: readonly string[] = value.map(textOf)
  return items.some((item) => item.includes('(') && !item.includes(')')) ? partsOf(items.join(', ')) : items
}

function textOf(value: FrontMatterValue): string {
  return typeof value === 'string' ? value.trim() : JSON.stringify(value)
}
