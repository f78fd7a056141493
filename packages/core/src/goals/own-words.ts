import { isJsonObject } from '../json.ts'
import type { ContentBlock } from '../messages.ts'
import type { Transcript, TranscriptEntry } from '../transcript.ts'

/** Letters and digits alone, in one case: what quotes, escapes, line ends and punctuation around words do not change. */
export function lettersOf(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, '')
}

/**
 * The same for a part of a result: as it is, without escapes and colours, and without numbers in front of lines, which programs that show files put there.
 */
export function formsOf(passage: string): readonly string[] {
  const plain = unescaped(passage)
  const unnumbered = passage.includes('\n') ? plain.replaceAll(/^\s*\d+\s*[:|)-]?/gm, '') : plain
  return [...new Set([lettersOf(passage), lettersOf(plain), lettersOf(unnumbered)])]
}

/** A call of the model, as evidence is held against it. */
export interface CalledTool {
  readonly name: string
  readonly input: unknown
}

/** A call, and where it is on record. */
export interface RecordedCall extends CalledTool {
  readonly id: string
  /** Index of its entry in the transcript. */
  readonly at: number
}

/** What the model itself wrote: its texts, its thoughts and the inputs of its calls. */
export class OwnWords {
  readonly calls: readonly RecordedCall[]
  readonly #texts: string[] = []
  /** One or more readings of each input, in the order of the calls. */
  readonly #inputs: { readonly id: string; readonly at: number; readonly letters: readonly string[] }[] = []

  constructor(transcript: Transcript) {
    const calls: RecordedCall[] = []
    for (const [index, block] of blocksOfModel(transcript)) {
      if (block.type === 'text' && typeof block.text === 'string') this.#texts.push(lettersOf(block.text))
      else if (block.type === 'thinking' && typeof block.thinking === 'string')
        this.#texts.push(lettersOf(block.thinking))
      else if (block.type === 'tool_use' || block.type.endsWith('_tool_use')) {
        const { id, name, input } = block as { id?: unknown; name?: unknown; input?: unknown }
        const call = { id: String(id), name: String(name), input, at: index }
        calls.push(call)
        this.#inputs.push({ id: call.id, at: index, letters: readingsOf(input) })
      }
    }
    this.calls = calls
  }

  /** Whether the model wrote all of it in one place, at any time. */
  hasWhole(letters: string): boolean {
    return (
      this.#texts.some((text) => text.includes(letters)) ||
      this.#inputs.some((input) => input.letters.some((reading) => reading.includes(letters)))
    )
  }

  /** What could have gone into the result of a call: the inputs before that result, as letters. */
  inputsBefore(at: number): readonly string[] {
    return this.#inputs.flatMap((input) => (input.at < at ? input.letters : []))
  }

  /** The input of one call, as letters. */
  inputOf(callId: string): readonly string[] {
    return this.#inputs.findLast(({ id }) => id === callId)?.letters ?? []
  }
}

function* blocksOfModel(transcript: Transcript): Iterable<readonly [number, ContentBlock]> {
  let index = 0
  for (const entry of transcript) {
    for (const block of contentOfModel(entry)) yield [index, block]
    index++
  }
}

/** Its own entries, and its messages in a conversation that began with a summary or was taken over. */
function contentOfModel(entry: TranscriptEntry): readonly ContentBlock[] {
  if (entry.kind === 'assistant') return entry.error === undefined ? entry.message.content : []
  if (entry.kind !== 'compact_boundary') return []
  return entry.messages.flatMap(({ role, content }) =>
    role === 'assistant' && typeof content !== 'string' ? [...content] : [],
  )
}

/**
 * What an input says: its values one behind the other, the same with the names of fields, and what comes out where a program takes escapes apart,
 * decodes base64 or hexadecimal digits, turns the text around or shifts its letters by 13.
 */
function readingsOf(input: unknown): readonly string[] {
  const values: string[] = []
  const withNames: string[] = []
  collect(input, values, withNames)
  const text = values.join('\n')
  const plain = lettersOf(text)
  const named = withNames.join('\n')
  const readings = [plain, lettersOf(named), lettersOf(unescaped(text)), lettersOf(unescaped(named))]
  const decoded = decodedParts(text)
  if (decoded !== '')
    readings.push(lettersOf(decoded), lettersOf(unescaped(decoded)), lettersOf(unescaped(turned(decoded))))
  readings.push(turned(plain), lettersOf(unescaped(turned(text))), shifted(plain))
  return [...new Set(readings)].filter((reading) => reading !== '')
}

const deepest = 100

function collect(value: unknown, values: string[], withNames: string[], depth = 0): void {
  if (depth > deepest) return
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') {
    values.push(String(value))
    withNames.push(String(value))
  } else if (Array.isArray(value)) for (const part of value) collect(part, values, withNames, depth + 1)
  else if (isJsonObject(value))
    for (const [name, part] of Object.entries(value)) {
      withNames.push(name)
      collect(part, values, withNames, depth + 1)
    }
}

// oxlint-disable-next-line no-control-regex -- they are what is looked for
const terminalCodes = /\u001B(?:\[[\d;?]*[ -/]*[@-~]|\][^\u0007\u001B]*\u0007?)/g

/** Escapes of terminals, shells, programming languages, URLs and HTML, taken apart. */
function unescaped(text: string): string {
  return text
    .replaceAll(terminalCodes, '')
    .replaceAll(/\\u\{?([\da-f]{2,6})\}?/gi, (_, digits: string) => characterOf(Number.parseInt(digits, 16)))
    .replaceAll(/(?:\\x|%)([\da-f]{2})/gi, (_, digits: string) => characterOf(Number.parseInt(digits, 16)))
    .replaceAll(/\\0?([0-3]?[0-7]{2})/g, (_, digits: string) => characterOf(Number.parseInt(digits, 8)))
    .replaceAll(/&#x([\da-f]{1,6});/gi, (_, digits: string) => characterOf(Number.parseInt(digits, 16)))
    .replaceAll(/&#(\d{1,7});/g, (_, digits: string) => characterOf(Number(digits)))
    .replaceAll(/&[a-z]{2,8};/gi, ' ')
    .replaceAll(/\\[abcefnrtv]/gi, ' ')
    .replaceAll(/%[-\d.]*[sdifq]/g, ' ')
}

function characterOf(code: number): string {
  return code <= 0x10ffff ? String.fromCodePoint(code) : ''
}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'

/** What base64 and hexadecimal digits in a text come to, where they could be text. */
function decodedParts(text: string): string {
  const decoded: string[] = []
  for (const [run] of text.matchAll(/(?:[\da-f]{2}[\s:,]*){8,}/gi)) decoded.push(textOfHex(run))
  for (const [run] of text.matchAll(/[A-Za-z\d+/_-]{11,}/g)) decoded.push(textOfBase64(run))
  return decoded.join(' ')
}

function textOfHex(run: string): string {
  const digits = run.replaceAll(/[^\da-f]/gi, '')
  let text = ''
  for (let at = 0; at + 1 < digits.length; at += 2) text += printable(Number.parseInt(digits.slice(at, at + 2), 16))
  return text
}

function textOfBase64(run: string): string {
  let [bits, count, text] = [0, 0, '']
  for (const sign of run.replaceAll('-', '+').replaceAll('_', '/')) {
    bits = ((bits << 6) | alphabet.indexOf(sign)) & 0xffff
    count += 6
    if (count < 8) continue
    count -= 8
    text += printable((bits >> count) & 0xff)
  }
  return text
}

/** Words of ASCII are what somebody would hide so. */
function printable(code: number): string {
  return code >= 0x20 && code < 0x7f ? String.fromCharCode(code) : ' '
}

function turned(text: string): string {
  return Array.from(text).toReversed().join('')
}

function shifted(letters: string): string {
  return letters.replaceAll(/[a-z]/g, (letter) => {
    const place = letter.charCodeAt(0) - 97
    return String.fromCharCode(97 + ((place + 13) % 26))
  })
}

/** The longest part of `letters` of at least so many characters that occurs in one of the sources; undefined for none. */
export function longestShared(letters: string, sources: readonly string[], least: number): string | undefined {
  const isShared = sharedAt(letters, sources, least)
  let [best, from] = ['', 0]
  for (let at = 0; at < letters.length; at++) {
    if (isShared[at] !== true) continue
    from = at
    while (isShared[at + 1] === true) at++
    // Each of these windows occurs, though perhaps not all of them in a row.
    const part = letters.slice(from, at + least)
    if (part.length > best.length) best = part
  }
  return best === '' ? undefined : best
}

/** How many characters are left of `letters` where all parts of at least so many characters that occur in one of the sources are taken out. */
export function withoutShared(letters: string, sources: readonly string[], least: number): readonly boolean[] {
  const isLeft = Array.from({ length: letters.length }, () => true)
  for (const [at, isShared] of sharedAt(letters, sources, least).entries())
    if (isShared) isLeft.fill(false, at, at + least)
  return isLeft
}

/** For each place whether the next `length` characters occur in one of the sources. Takes the time of reading these once. */
function sharedAt(letters: string, sources: readonly string[], length: number): readonly boolean[] {
  const windows = Array.from({ length: Math.max(0, letters.length - length + 1) }, (_, at) =>
    letters.slice(at, at + length),
  )
  const missing = new Set(windows)
  const found = new Set<string>()
  for (const source of sources) {
    for (let at = 0; at + length <= source.length && missing.size > 0; at++) {
      const window = source.slice(at, at + length)
      if (missing.delete(window)) found.add(window)
    }
  }
  return windows.map((window) => found.has(window))
}
