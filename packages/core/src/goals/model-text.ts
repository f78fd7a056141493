import { isJsonObject } from '../values/json.ts'
import type { ContentBlock } from '../model/messages.ts'
import type { Transcript, TranscriptEntry } from '../conversation/transcript.ts'

/** The letters and digits of a text, in one case. Quotes, escapes, line ends and punctuation between words are ignored. */
export function lettersOf(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, '')
}

/** Works like `lettersOf` for a part of a result: unchanged, without escapes and colours, and without line numbers, which programs that show files add. */
export function variantsOf(passage: string): readonly string[] {
  const plain = unescaped(passage)
  const unnumbered = passage.includes('\n') ? plain.replaceAll(/^\s*\d+\s*[:|)-]?/gm, '') : plain
  return [...new Set([lettersOf(passage), lettersOf(plain), lettersOf(unnumbered)])]
}

/** A call of the model, for comparing evidence with it. */
export interface CalledTool {
  /** Name of the tool. */
  readonly name: string
  /** Input of the call, as the model wrote it. */
  readonly input: unknown
}

/** A call, and its position in the record. */
export interface RecordedCall extends CalledTool {
  readonly id: string
  /** Index of its entry in the transcript. */
  readonly at: number
}

interface NormalizedTexts {
  readonly texts: readonly string[]
  /** The readings of each input, in the order of the calls. */
  readonly inputs: readonly { readonly id: string; readonly at: number; readonly letters: readonly string[] }[]
}

/** What the model itself wrote: texts, thoughts and inputs of calls. */
export class ModelText {
  readonly calls: readonly RecordedCall[]
  readonly #texts: readonly string[]
  #normalized: NormalizedTexts | undefined
  /** By length and letters: several results may contain the same quote. */
  readonly #first = new Map<string, readonly number[]>()

  constructor(transcript: Transcript) {
    const calls: RecordedCall[] = []
    const texts: string[] = []
    for (const [at, block] of blocksOfModel(transcript)) {
      if (block.type === 'text' && typeof block.text === 'string') texts.push(block.text)
      else if (block.type === 'thinking' && typeof block.thinking === 'string') texts.push(block.thinking)
      else if (block.type === 'tool_use' || block.type.endsWith('_tool_use')) {
        const { id, name, input } = block as { id?: unknown; name?: unknown; input?: unknown }
        calls.push({ id: String(id), name: String(name), input, at })
      }
    }
    this.calls = calls
    this.#texts = texts
  }

  /** Computed lazily: a verdict without quotes needs none. */
  get #letters(): NormalizedTexts {
    return (this.#normalized ??= {
      texts: this.#texts.map(lettersOf),
      inputs: this.calls.map(({ id, at, input }) => ({ id, at, letters: readingsOf(input) })),
    })
  }

  /** Whether one text or one call input that the model wrote at any time contains the whole passage. */
  containsWhole(letters: string): boolean {
    const { texts, inputs } = this.#letters
    return (
      texts.some((text) => text.includes(letters)) ||
      inputs.some((input) => input.letters.some((reading) => reading.includes(letters)))
    )
  }

  /**
   * For each position in `letters`, whether the next `length` characters occur in an input before this entry. They could
   * then have entered its results.
   */
  sharedWithEarlier(letters: string, at: number, length: number): readonly boolean[] {
    const key = `${length} ${letters}`
    const first = this.#first.get(key) ?? this.#firstEntries(letters, length)
    this.#first.set(key, first)
    return first.map((entry) => entry < at)
  }

  #firstEntries(letters: string, length: number): readonly number[] {
    const readings = this.#letters.inputs.flatMap((input) => input.letters.map((text) => ({ at: input.at, text })))
    const texts = readings.map(({ text }) => text)
    return firstTextsWith(letters, texts, length).map((number) => readings[number]?.at ?? Infinity)
  }

  /** Works like `sharedWithEarlier` for the input of one call. */
  sharedWithCall(letters: string, callId: string, length: number): readonly boolean[] {
    const texts = this.#letters.inputs.findLast(({ id }) => id === callId)?.letters ?? []
    return firstTextsWith(letters, texts, length).map((number) => number !== Infinity)
  }
}

function* blocksOfModel(transcript: Transcript): Iterable<readonly [number, ContentBlock]> {
  let index = 0
  for (const entry of transcript) {
    for (const block of contentOfModel(entry)) yield [index, block]
    index++
  }
}

/** Content of the model's entries, and of its messages in a conversation that began with a summary or was taken over. */
function contentOfModel(entry: TranscriptEntry): readonly ContentBlock[] {
  if (entry.kind === 'assistant') return entry.error === undefined ? entry.message.content : []
  if (entry.kind !== 'compact_boundary') return []
  return entry.messages.flatMap(({ role, content }) =>
    role === 'assistant' && typeof content !== 'string' ? [...content] : [],
  )
}

/**
 * The possible readings of an input: its values concatenated, the same with the field names, and the text after
 * unescaping, decoding base64 or hexadecimal digits, reversing, or ROT13.
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
    readings.push(lettersOf(decoded), lettersOf(unescaped(decoded)), lettersOf(unescaped(reversed(decoded))))
  readings.push(reversed(plain), lettersOf(unescaped(reversed(text))), rot13(plain))
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

/** Unescapes sequences of terminals, shells, programming languages, URLs and HTML. */
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

/** Decodes base64 and hexadecimal digits in a text, where the result could be text. */
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

/** Hidden words are assumed to be ASCII. */
function printable(code: number): string {
  return code >= 0x20 && code < 0x7f ? String.fromCharCode(code) : ' '
}

function reversed(text: string): string {
  return Array.from(text).toReversed().join('')
}

function rot13(letters: string): string {
  return letters.replaceAll(/[a-z]/g, (letter) => {
    const place = letter.charCodeAt(0) - 97
    return String.fromCharCode(97 + ((place + 13) % 26))
  })
}

/** Given the positions where a part of `length` characters is shared, the longest run of them as a range; undefined without shared parts. */
export function longestShared(letters: string, isShared: readonly boolean[], length: number): string | undefined {
  let best = ''
  for (let at = 0; at < letters.length; at++) {
    if (isShared[at] !== true) continue
    const from = at
    while (isShared[at + 1] === true) at++
    // Each of these parts occurs in a text, but the text may not contain them consecutively.
    const part = letters.slice(from, at + length)
    if (part.length > best.length) best = part
  }
  return best === '' ? undefined : best
}

/** Marks the characters of `letters` that remain after removing the shared parts of `length` characters. */
export function unsharedLetters(letters: string, isShared: readonly boolean[], length: number): readonly boolean[] {
  const isLeft = Array.from({ length: letters.length }, () => true)
  for (const [at, shared] of isShared.entries()) if (shared) isLeft.fill(false, at, at + length)
  return isLeft
}

/** A prime, so that hashes of similar parts differ. */
const base = 16_777_619
const slots = 1 << 16

/**
 * For each position, the number of the first text in which the next `length` characters occur; Infinity for none. It
 * reads the texts once, with a rolling hash, and compares the hits.
 */
export function firstTextsWith(letters: string, texts: Iterable<string>, length: number): readonly number[] {
  const windows = Array.from({ length: Math.max(0, letters.length - length + 1) }, (_, at) =>
    letters.slice(at, at + length),
  )
  const missing = new Set(windows)
  const hits = new Uint8Array(slots)
  for (const window of missing) hits[hashOf(window) & (slots - 1)] = 1
  let out = 1
  for (let count = 1; count < length; count++) out = Math.imul(out, base)
  const first = new Map<string, number>()
  let number = -1
  for (const text of texts) {
    number++
    if (missing.size === 0) break
    if (text.length < length) continue
    let hash = hashOf(text.slice(0, length))
    for (let end = length; ; end++) {
      if (hits[hash & (slots - 1)] === 1) {
        const window = text.slice(end - length, end)
        if (missing.delete(window)) first.set(window, number)
      }
      if (end >= text.length) break
      hash = (Math.imul(hash - Math.imul(text.charCodeAt(end - length), out), base) + text.charCodeAt(end)) | 0
    }
  }
  return windows.map((window) => first.get(window) ?? Infinity)
}

function hashOf(text: string): number {
  let hash = 0
  for (let at = 0; at < text.length; at++) hash = (Math.imul(hash, base) + text.charCodeAt(at)) | 0
  return hash
}
