import type { Document } from 'yaml'
import { headOf } from '@halting/core/adapters'

/** A value of YAML with every scalar as its text: `true` and `3` are what was typed. */
type FrontMatterValue = string | readonly FrontMatterValue[] | { readonly [name: string]: FrontMatterValue }

/** The fields of a header, by name in lower case. */
export type FrontMatter = ReadonlyMap<string, FrontMatterValue>

/** A text with a header, such as an agent, a command or a skill. */
export interface WithFrontMatter {
  readonly fields: FrontMatter
  /** The text below the header. */
  readonly body: string
  /** Lines that could not be parsed, in words. For files whose fields restrict something: an unread field would restrict nothing. */
  readonly problems: readonly string[]
}

/** The header between two lines of `---`, undefined where there is none, and the text below it. */
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
  if (header.length > longestHeader)
    return { fields: new Map(), body, problems: [`its header is longer than ${longestHeader} characters`] }
  const yaml = await import('yaml')
  const parse = (part: string): ParsedPart => parsedPart(part, yaml)
  const whole = parse(header)
  if (whole.problem === undefined) return { ...whole, body, problems: [] }
  const fields = new Map<string, FrontMatterValue>()
  const problems: string[] = []
  const chunks = fieldChunks(header.split(/\r?\n/), isField)
  if (chunks.length > maxFields) return { fields, body, problems: [`its header has more than ${maxFields} fields`] }
  for (const chunk of chunks) {
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

type Yaml = typeof import('yaml')

/** The parser calls itself for each level and runs out of stack: no header that people write has so many levels. */
const deepest = 100
/** A stranger's header must not delay the start: with an error in each word it takes half a second. */
const longestHeader = 32 * 1024
/** Parsing each field by itself takes time. */
const maxFields = 1_000
/** The parser searches all anchors for each alias. */
const maxAliases = 100

/**
 * Whether the text is nested too deeply to be parsed. The stack of the parser's first pass, which reads one token after the other, counts the levels:
 * brackets in quotes and in remarks are none, and lists are nested by their indentation too.
 */
function isTooDeep(text: string, { Lexer, Parser }: Yaml): boolean {
  const parser = new Parser()
  for (const token of new Lexer().lex(text)) {
    // Runs the parser up to the next token.
    Array.from(parser.next(token))
    if (parser.stack.length > deepest) return true
  }
  return false
}

interface ParsedPart {
  readonly fields: FrontMatter
  readonly problem?: string
}

function parsedPart(text: string, yaml: Yaml): ParsedPart {
  const problem = (what: string): ParsedPart => ({ fields: new Map(), problem: what })
  if (isTooDeep(text, yaml)) return problem('its header is nested too deeply')
  const document = yaml.parseDocument(text, {
    schema: 'failsafe',
    // Tags such as `!!set` would make values that are no texts, lists and maps.
    resolveKnownTags: false,
    // The parser compares each key with each other one: see `misread`.
    uniqueKeys: false,
    // At `silent` the parser drops what is below a line of `...` or `---` without an error.
    logLevel: 'error',
    // Copies the line for each error in it.
    prettyErrors: false,
  })
  const [error] = document.errors
  if (error !== undefined) {
    const at = error.pos[0]
    const [line = ''] = text.slice(text.lastIndexOf('\n', at - 1) + 1).split(/\r?\n/, 1)
    return problem(`cannot parse the line ${shownLine(line)}`)
  }
  const wrong = misread(document, yaml)
  if (wrong !== undefined) return problem(wrong)
  const value = valueOf(document)
  if (value === undefined) return problem('an alias refers to nothing, or to too much')
  // A header of remarks alone has no fields.
  if (value === '') return { fields: new Map() }
  if (typeof value === 'string' || Array.isArray(value)) return problem(`cannot parse the line ${shownLine(text)}`)
  return { fields: new Map(Object.entries(value).map(([name, each]) => [fieldName(name), trimmed(each)])) }
}

function shownLine(line: string): string {
  return JSON.stringify(headOf(line, 100))
}

/** Case and surrounding blanks do not tell fields apart. */
function fieldName(key: string): string {
  return key.toLowerCase().trim()
}

/** What is valid YAML, and would be read as something else than a reader sees: the first such problem, in words. */
function misread(document: Document.Parsed, { isAlias, isMap, isScalar, visit }: Yaml): string | undefined {
  let found: string | undefined
  let aliases = 0
  const stop = (problem: string): symbol => {
    found = problem
    return visit.BREAK
  }
  visit(document, {
    Node: (_key, node) => {
      if (isAlias(node)) return ++aliases > maxAliases ? stop('an alias refers to nothing, or to too much') : undefined
      const { tag, anchor } = node
      // `!Bash` and `&Bash` name an empty text.
      if (tag !== undefined && !tag.startsWith('tag:yaml.org,2002:'))
        return stop(`has the unknown tag ${shownLine(tag)}`)
      const isEmpty = isScalar(node) && node.value === '' && node.type === 'PLAIN'
      if (anchor !== undefined && isEmpty) return stop(`has nothing at the anchor ${shownLine(`&${anchor}`)}`)
      if (!isMap(node)) return undefined
      const names = new Set<string>()
      for (const { key } of node.items) {
        if (!isScalar<string>(key)) return stop('the name of a field is not a text')
        const name = node === document.contents ? fieldName(key.value) : key.value
        if (names.has(name)) return stop(`the field ${headOf(name, 100)} is given twice`)
        names.add(name)
      }
      return undefined
    },
  })
  return found
}

/** Undefined for aliases that cannot be resolved, that multiply without bound, or that are part of what they refer to. */
function valueOf(document: Document.Parsed): FrontMatterValue | undefined {
  try {
    // The failsafe schema has texts, lists and maps only; an empty document is null.
    const value = (document.toJS({ maxAliasCount: 100 }) as FrontMatterValue | null) ?? ''
    // Throws for a value that contains itself.
    JSON.stringify(value)
    return value
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

/** Parts a header at the lines that begin a field, and gives a description its prose and its examples. */
function fieldChunks(lines: readonly string[], isField: (word: string) => boolean): readonly FieldChunk[] {
  const chunks: FieldChunk[] = []
  const examples = exampleLengths(lines)
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
      last.lines.push(line)
      const end = last.name === 'description' ? at + (examples[at] ?? 0) : at
      while (at + 1 < end) last.lines.push(lines[++at] ?? '')
    }
  }
  return chunks.flatMap((chunk) => (isRepairable(chunk, isField) ? [chunk] : separated(chunk)))
}

/** How many lines the example has that begins at each line, 0 for none: anything may be in it. */
function exampleLengths(lines: readonly string[]): readonly number[] {
  let close = -1
  const lengths = lines.map((_, index) => {
    const at = lines.length - 1 - index
    const line = lines[at] ?? ''
    if (/<\/example>/i.test(line)) close = at
    return close !== -1 && /^\s*<example\b/i.test(line) ? close - at + 1 : 0
  })
  return lengths.toReversed()
}

/** Whether the lines below the first belong to its field: they are indented, items of a list, or prose of a description. */
function isRepairable({ name, lines }: FieldChunk, isField: (word: string) => boolean): boolean {
  const examples = name === 'description' ? exampleLengths(lines) : []
  let example = 0
  return lines.slice(1).every((line, at) => {
    if (example === 0) example = examples[at + 1] ?? 0
    if (example > 0) {
      example--
      return true
    }
    if (/^\s|^$|^#|^- /.test(line)) return true
    const [word = ''] = /[\w-]+/.exec(line) ?? []
    return name === 'description' && !isField(word)
  })
}

/** Lines that belong to no field are reported by themselves: they may be a field with a typing error. */
function separated({ name, lines }: FieldChunk): readonly FieldChunk[] {
  const isOwn = (line: string, at: number): boolean => at === 0 || /^\s|^$|^#|^- /.test(line)
  const own = lines.filter(isOwn)
  const others = lines.filter((line, at) => !isOwn(line, at))
  return [{ name, lines: own }, ...others.map((line) => ({ name: undefined, lines: [line] }))]
}

/**
 * A field as valid YAML, where its value is a plain text that YAML does not accept: the text in quotes. Unchanged where lines below look like fields of
 * their own, and for a list or a map: what was meant cannot be known. A hint for arguments is a text whatever its brackets.
 */
function repaired({ name, lines: [first = '', ...below] }: FieldChunk): string {
  const [, head = '', value = ''] = /^([^:]*:)\s*(.*)$/.exec(first) ?? []
  const unchanged = [first, ...below].join('\n')
  const isText = name === 'argument-hint' || name === 'description' ? /^[^|>]/ : /^[^|>[{"'&!]/
  const hasFields = below.some((line) => /^\s+["']?[\w-]+["']?\s*:(?:\s|$)/.test(line))
  if (name === undefined || !isText.test(value) || hasFields) return unchanged
  const lines = [value, ...below.map((line) => line.trim())]
  const last = lines.findLastIndex((line) => !/^(?:#|$)/.test(line))
  // A remark would take the lines below it along.
  if (name !== 'description' && lines.slice(0, last).some((line) => /(?:^|\s)#/.test(line))) return unchanged
  // One blank: an expression that takes all of them would begin at each anew.
  const text = lines
    .join(' ')
    .trim()
    .replace(/\s#[\s\S]*$/, '')
  return `${head} ${JSON.stringify(text)}`
}

/** Parts a text at the commas outside brackets and quotes: `Bash(git add:*), Read`. */
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

/** The value of a field as one text; '' for a missing one. */
export function textField(fields: FrontMatter, name: string): string {
  const value = fields.get(name) ?? ''
  if (typeof value === 'string') return value
  return Array.isArray(value) ? value.map(textOf).join(', ') : JSON.stringify(value)
}

/** The value of a field as a list: a list of YAML, or a text with commas. */
export function listField(fields: FrontMatter, name: string): readonly string[] {
  const value = fields.get(name) ?? []
  if (typeof value === 'string') return partsOf(value)
  if (!Array.isArray(value)) return [JSON.stringify(value)]
  // In brackets YAML parts `Bash(a, b)` at its comma.
  const items: readonly string[] = value.map(textOf)
  return items.some((item) => item.includes('(') && !item.includes(')')) ? partsOf(items.join(', ')) : items
}

function textOf(value: FrontMatterValue): string {
  return typeof value === 'string' ? value.trim() : JSON.stringify(value)
}
