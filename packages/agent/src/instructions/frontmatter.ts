import { headOf } from '@halting/core/adapters'

/** The front matter of a command or skill: texts or lists of texts, by name. */
export type FrontMatter = ReadonlyMap<string, string | readonly string[]>

export interface WithFrontMatter {
  readonly fields: FrontMatter
  /** The text below. */
  readonly body: string
  /** Lines that were ignored, in words: needed for files whose fields restrict something. */
  readonly problems: readonly string[]
  /** The unparsed lines below a name without value: nested fields, which `fields` does not have. */
  readonly below: ReadonlyMap<string, readonly string[]>
}

/**
 * Parses the part of YAML that such files use: `name: value`, quotes, lists in brackets or below, and multi-line
 * texts. Other lines are ignored: a command is its text. A description may continue in lines without indentation, as
 * examples in it often do, unless a line begins with the name of a field.
 * @param isField Whether a word is probably meant as a field name.
 */
export function withFrontMatter(text: string, isField: (word: string) => boolean = () => false): WithFrontMatter {
  const found = /^---[ \t]*\r?\n([\s\S]*?)(?:^|\r?\n)---[ \t]*(?:\r?\n|$)/.exec(text)
  if (found === null) return { fields: new Map(), body: text.trim(), problems: [], below: new Map() }
  const [head, inner = ''] = found
  const problems: string[] = []
  const below = new Map<string, readonly string[]>()
  const fields = fieldsIn(inner.split(/\r?\n/), { problems, below, isField })
  return { fields, body: text.slice(head.length).trim(), problems, below }
}

interface Reading {
  readonly problems: string[]
  readonly below: Map<string, readonly string[]>
  readonly isField: (word: string) => boolean
}

function fieldsIn(lines: readonly string[], { problems, below: nested, isField }: Reading): FrontMatter {
  const fields = new Map<string, string | readonly string[]>()
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? ''
    const [, name, rawText = ''] = /^([\w-]+):(?:\s+(.*))?$/.exec(line) ?? []
    if (name === undefined) {
      if (!/^\s*(?:#|$)/.test(line)) problems.push(`cannot parse the line ${shownLine(line)}`)
      continue
    }
    const below: string[] = []
    while (/^(?:\s+\S|\s*$|\s*- )/.test(lines[at + 1] ?? 'x')) below.push(lines[++at] ?? '')
    if (name.toLowerCase() === 'description') {
      const more = proseIn(lines.slice(at + 1), isField)
      below.push(...more)
      at += more.length
    }
    if (rawText === '') nested.set(name.toLowerCase(), below)
    // A multi-line text may contain anything, and a name without value may have nested fields.
    if (/^[^|>"']/.test(rawText)) {
      const field = below.find((each) => /^\s+["']?[\w-]+["']?\s*:(?:\s|$)/.test(each))
      if (field !== undefined) problems.push(`the line ${shownLine(field)} belongs to the field above it`)
    }
    if (fields.has(name.toLowerCase())) problems.push(`the field ${name} is given twice`)
    fields.set(name.toLowerCase(), valueOf(rawText.trim(), below))
  }
  return fields
}

/** Lines of a description without indentation: whole examples, and lines that are not fields. */
function proseIn(lines: readonly string[], isField: (word: string) => boolean): readonly string[] {
  let end = 0
  while (end < lines.length) {
    const line = lines[end] ?? ''
    const close = /^\s*<example\b/i.test(line)
      ? lines.findIndex((each, at) => at >= end && /<\/example>/i.test(each))
      : -1
    if (close !== -1) end = close + 1
    else if (isProse(line, isField)) end++
    else break
  }
  return lines.slice(0, end)
}

function isProse(line: string, isField: (word: string) => boolean): boolean {
  if (/^[\w-]+:(?:\s|$)/.test(line) || /^\s*(?:#|$)/.test(line)) return false
  const [word = ''] = /[\w-]+/.exec(line) ?? []
  return !isField(word)
}

function shownLine(line: string): string {
  return JSON.stringify(headOf(line, 100))
}

function valueOf(rawText: string, below: readonly string[]): string | readonly string[] {
  const items = below.flatMap((line) => /^\s*- (.*)$/.exec(line)?.[1] ?? [])
  if (rawText === '' && items.length > 0) return items.map((item) => plain(item.trim()))
  if (/^[|>][+-]?$/.test(rawText)) {
    const lines = below.map((line) => line.trim())
    return lines.join(rawText.startsWith('>') ? ' ' : '\n').trim()
  }
  const text = [rawText, ...below.map((line) => line.trim())].join(' ').trim()
  return /^\[.*\]$/.test(text) ? partsOf(text.slice(1, -1)).map(plain) : plain(text)
}

/** The text without its quotes. */
function plain(text: string): string {
  const [, double, single] = /^(?:"((?:[^"\\]|\\.)*)"|'((?:[^']|'')*)')(?:\s+#.*)?$/.exec(text) ?? []
  if (double !== undefined) return double.replaceAll(/\\(.)/g, '$1')
  if (single !== undefined) return single.replaceAll("''", "'")
  // One blank: a pattern for several would backtrack at each of them.
  return text.replace(/\s#[\s\S]*$/, '').trimEnd()
}

/** Splits at commas outside brackets and quotes: `Bash(git add:*), Read`. */
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

export function textField(fields: FrontMatter, name: string): string {
  const value = fields.get(name) ?? ''
  return typeof value === 'string' ? value : value.join(', ')
}

export function listField(fields: FrontMatter, name: string): readonly string[] {
  const value = fields.get(name) ?? []
  return typeof value === 'string' ? partsOf(value) : value
}
