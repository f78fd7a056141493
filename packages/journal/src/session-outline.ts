import { isAscii } from 'node:buffer'
import { closeSync } from 'node:fs'
import { validateRecord, type StepRecord } from '@halting/core/steps'
import { isJsonObject } from '@halting/core/adapters'
import { readSized } from './files/private-file.ts'
import { openSizedSync } from './files/regular-file.ts'
import { JournalDecoder } from './format/decoder.ts'
import { foldMark } from './format/fold.ts'
import { callIdOf, type Fields } from './format/encoder.ts'
import { isWholeLine, valueOfWhole } from './format/line.ts'
import { payloadsFolder, withPayloads } from './format/payloads.ts'
import { checkHead, titleIn } from './read-journal.ts'

// Most of a session is messages, which a list does not show. Their lines are verified but not parsed; only the record
// after the message is. If that leaves anything unclear, the session is read completely.

/** What a list shows of a session. */
export interface SessionOutline {
  /** Id of the session. */
  readonly sessionId: string
  /** Working directory of the session. */
  readonly cwd: string
  /** Title of the session when it was created. */
  readonly title?: string
  /** Its runs, in order. */
  readonly runs: readonly RunOutline[]
}

/** A run that ended. */
export interface RunOutline {
  /** Its start, with its messages. */
  readonly start: Extract<StepRecord, { readonly type: 'start' }>
  /** Results with a charge, without their messages. */
  readonly results: readonly StepRecord[]
  /** Its end, without its messages. */
  readonly end: Extract<StepRecord, { readonly type: 'end' }>
  /** Number of tool calls. */
  readonly calls: number
  /** Number of failed tool calls. */
  readonly failedCalls: number
}

/** Larger files are not loaded into memory. */
const maxBytes = 2 * 1_024 * 1_024

/** The session must be read completely. */
class NeedsAllError extends Error {
  override readonly name = 'NeedsAllError'
}

let sharedBuffer: Buffer = Buffer.alloc(0)

// Spec R-SESS-8d.
/**
 * Reads the outline of a session. Undefined if it must be read completely: a run did not end, its conversation was
 * rewound, it has subagents, a call has no result of its own, another version wrote it, it is large, or something is
 * invalid.
 */
export function readOutline(path: string): SessionOutline | undefined {
  try {
    const bytes = bytesOf(path)
    return bytes === undefined ? undefined : new OutlineReader(bytes, path).read()
  } catch {
    // Reading everything finds out what is wrong, and where.
    return undefined
  }
}

/** Valid until the next file is read. */
function bytesOf(path: string): Buffer | undefined {
  const { file, size } = openSizedSync(path)
  try {
    if (size === 0 || size > maxBytes) return undefined
    if (sharedBuffer.length < size) sharedBuffer = Buffer.allocUnsafeSlow(Math.max(size, 1 << 17))
    const bytes = readSized(file, size, sharedBuffer)
    return bytes.length < size ? undefined : bytes
  } finally {
    closeSync(file)
  }
}

/** Beginnings of records without a message, in the second and the first format. */
const ownStarts = ['{"record":{"', '{"type":"halting","record":{"'] as const
const foldStart = foldMark.slice(1)
/** The record follows its message. No text contains this, because quotation marks are escaped. */
const recordField = ',"record":{"'
/** Beginning of a call in a message, up to its id. A match inside an input has no step. */
const toolUse = '{"type":"tool_use","id":"'

/**
 * End of a `lap` record whose entries refer to other lines, so that it contains no result. In the first format, and
 * with complete figures, nothing follows the entries.
 */
const plainAdded =
  /"added":\[(?:\{"kind":"assistant","id":"[^"\\]*","message":(?:\d+|"[^"\\]*")\}|\{"kind":"user","id":"[^"\\]*","message":\{"role":"user","content":\{"blocks":\[(?:\{"ref":(?:\d+|"[^"\\]*")\}|,)*\]\}\},"origin":"tool_results"\}|\["[ar]","[^"\\]*"(?:,\d+)+\]|,)*\]\}\},"sum":"[\da-f]{8}"\}$/y
const wholeLap = /^\{(?:"type":"halting",)?"record":\{"type":"lap","lap":\{"scope":"","transition":"[a-z_]+","spent":\{/
/** The end of such a record with changed figures, which follow the entries. */
const plainLap =
  /^\{"record":\{"type":"lap","lap":\{"scope":"","transition":"[a-z_]+","added":\[(?:\["[ar]","[^"\\]*"(?:,\d+)+\]|,)*\]\}\},"delta":/

/** The step of a result, by the line of its intent or by its key, up to its value. */
const stepStart = String.raw`^,"record":\{(?:"of":(\d+)|"type":"result","key":"([^"\\]+)","digest":(?:"[^"\\]*"|null)),"value":`
const lineEnd = String.raw`(?:,"at":[\d.]+)?,"durationMs":[\d.]+\}(?:,"same":[123])?,"sum":"[\da-f]{8}"\}$`

/** Everything after the message of most tool results, with the status. Parsing it would take several times as long. */
const plainResult = new RegExp(String.raw`${stepStart}\{"status":"([a-z_]+)","isError":(?:true|false)\}${lineEnd}`)

/** The text after the message of most model requests, with the model and its charge. */
const plainReply = new RegExp(
  String.raw`${stepStart}\{"kind":"answered","streamError":null(?:,"grant":\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\})?,"promptDigest":"[^"\\]*","charge":\{"model":"([^"\\{}]*)","nanos":(\d+),"tokens":(\d+),"known":(true|false)(?:,"usage":\{[^{}]*\})?\}\}${lineEnd}`,
)

/** Beginning of a tool result in its line, up to the id of its call. */
const resultStart = '{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":'

const intentKey = /^\{(?:"type":"halting",)?"record":\{"type":"intent","key":"([^"\\]+)"/
/** Longer keys require reading the whole session. */
const longestKey = 400

/** A run without an end so far. */
interface OpenRun {
  readonly start: RunOutline['start']
  readonly results: StepRecord[]
  /** Calls without a result so far, by step name. */
  readonly open: Set<string>
  readonly ids: Set<string>
  calls: number
  failedCalls: number
}

class OutlineReader {
  readonly #bytes: Buffer
  /** One character per byte. */
  readonly #text: string
  readonly #isAscii: boolean
  readonly #path: string
  readonly #decoder = new JournalDecoder()
  readonly #runs: RunOutline[] = []
  #head: Fields | undefined
  #run: OpenRun | undefined
  /** Lines of messages before the start of a run, by number. */
  #messagesBeforeRun: (readonly [number: number, start: number, end: number])[] = []
  /** Offsets of intents without a result, by line number. */
  readonly #intents = new Map<number, number>()
  /** Model ids, as separate strings. */
  readonly #models = new Map<string, string>()
  /** Number of the current line, from 0. */
  #number = 0

  constructor(bytes: Buffer, path: string) {
    this.#bytes = bytes
    this.#path = path
    this.#isAscii = isAscii(bytes)
    this.#text = bytes.toString('latin1')
  }

  /** @throws NeedsAllError, or any error of reading a line. */
  read(): SessionOutline {
    const text = this.#text
    for (let start = 0; start < text.length;) {
      const end = text.indexOf('\n', start)
      if (end < 0 || !isWholeLine(this.#bytes, start, end, text)) throw new NeedsAllError()
      this.#line(start, end)
      this.#number++
      start = end + 1
    }
    const head = this.#head
    if (head === undefined || this.#run !== undefined || this.#runs.length === 0) throw new NeedsAllError()
    return { sessionId: String(head['sessionId']), cwd: String(head['cwd']), ...titleIn(head), runs: this.#runs }
  }

  #line(start: number, end: number): void {
    if (this.#head === undefined) return this.#takeHead(this.#valueOf(start, end))
    for (const own of ownStarts)
      if (this.#text.startsWith(own, start)) return this.#ownLine(start, end, start + own.length)
    if (!this.#text.startsWith(foldStart, start)) this.#message(start, end)
  }

  #takeHead(head: Fields): void {
    checkHead(head, this.#path)
    if (head['format'] === 1) this.#decoder.format = 1
    this.#head = head
  }

  /** `at` is the offset of the record's first field. */
  #ownLine(start: number, end: number, at: number): void {
    // The result of a step whose intent is in another line.
    if (this.#text.startsWith('of":', at)) return this.#result(this.#valueOf(start, end)['record'])
    const kindAt = at + 'type":"'.length
    switch (this.#text.slice(kindAt, this.#text.indexOf('"', kindAt))) {
      case 'intent':
        this.#intents.set(this.#number, start)
        return
      case 'control':
      case 'stage':
        return
      case 'lap':
        // A subagent's record, or one with an answer to a call that had no step.
        if (!this.#text.startsWith('lap","lap":{"scope":"",', kindAt)) throw new NeedsAllError()
        return this.#checkLap(this.#text.slice(start, end))
      case 'start':
        return this.#begin(start, end)
      case 'result':
        return this.#result(this.#valueOf(start, end)['record'])
      case 'end':
        return this.#end(this.#text.slice(start, end), this.#valueOf(start, end)['record'] as StepRecord)
      default:
        throw new NeedsAllError()
    }
  }

  #begin(start: number, end: number): void {
    for (const [number, from, to] of this.#messagesBeforeRun) this.#decode(number, from, to)
    this.#messagesBeforeRun = []
    this.#decode(this.#number, start, end)
    const record = this.#decoder.records.pop()
    if (this.#run !== undefined || record?.type !== 'start' || record.scope !== '') throw new NeedsAllError()
    if ((record.start.answers ?? []).length > 0) throw new NeedsAllError()
    this.#run = { start: record, results: [], open: new Set(), ids: new Set(), calls: 0, failedCalls: 0 }
  }

  /** Decodes a line that others may refer to by number. */
  #decode(number: number, start: number, end: number): void {
    this.#decoder.lines = number
    this.#decoder.add(this.#valueOf(start, end))
  }

  #end(line: string, record: StepRecord): void {
    this.#checkAnswers(line)
    const run = this.#run
    // A call without a result was not run, or was denied: its result is in another record.
    if (run === undefined || record.type !== 'end' || record.scope !== '' || run.open.size > 0)
      throw new NeedsAllError()
    const { start, results, calls, failedCalls } = run
    const ended = { ...record, added: [] }
    // The file may be forged, including checksums.
    if (validateRecord(start) !== undefined || validateRecord(ended) !== undefined) throw new NeedsAllError()
    this.#runs.push({ start, results, end: ended, calls, failedCalls })
    this.#run = undefined
  }

  #checkLap(line: string): void {
    if (plainLap.test(line)) return
    plainAdded.lastIndex = Math.max(0, line.lastIndexOf('"added":['))
    if (!wholeLap.test(line) || !plainAdded.test(line)) this.#checkAnswers(line)
  }

  #checkAnswers(line: string): void {
    if (line.includes('"tool_result"')) throw new NeedsAllError()
  }

  #message(start: number, end: number): void {
    const line = this.#text.slice(start, end)
    const at = line.lastIndexOf(recordField)
    if (at < 0) {
      this.#checkAnswers(line)
      if (this.#run === undefined) this.#messagesBeforeRun.push([this.#number, start, end])
      return
    }
    const behind = this.#textOf(start + at, end)
    const plain = plainResult.exec(behind)
    if (plain !== null) return this.#toolResult(plain[2] ?? this.#keyOfCall(Number(plain[1]), line), plain[3])
    const reply = plainReply.exec(behind)
    if (reply !== null) return this.#reply(reply, line.slice(0, at))
    // If it were nested in another value, this would be invalid JSON.
    const { record, payloads } = valueOfWhole(`{${behind.slice(1)}`)
    if (payloads !== undefined) throw new NeedsAllError()
    this.#result(record, line.slice(0, at))
  }

  /** Returns the key of the intent this many lines earlier, which must have no other result. */
  #keyBefore(distance: number): string {
    const number = this.#number - distance
    const start = this.#intents.get(number)
    if (start === undefined || !this.#intents.delete(number)) throw new NeedsAllError()
    const [, key] = intentKey.exec(this.#text.slice(start, start + longestKey)) ?? []
    // The key was decoded as single bytes, so it must be ASCII.
    if (key === undefined || !isAscii(Buffer.from(key, 'latin1'))) throw new NeedsAllError()
    return key
  }

  /** The same for a tool result, which also names its call. */
  #keyOfCall(distance: number, line: string): string {
    const key = this.#keyBefore(distance)
    if (!line.startsWith(`${resultStart}${JSON.stringify(callIdOf(key))}`)) throw new NeedsAllError()
    return key
  }

  #reply([, of, named, name = '', nanos, tokens, known]: RegExpExecArray, message: string): void {
    const model = this.#models.get(name) ?? copyOf(name)
    this.#models.set(model, model)
    const charge = { model, nanos: Number(nanos), tokens: Number(tokens), known: known === 'true' }
    const key = named ?? this.#keyBefore(Number(of))
    this.#step({ type: 'result', key, digest: null, value: { charge }, at: 0, durationMs: 0 }, message)
  }

  /** `message` is the part of the line before its record. */
  #result(record: unknown, message = ''): void {
    if (!isJsonObject(record)) throw new NeedsAllError()
    const { of, value } = record
    if (typeof of !== 'number') return this.#step(record as unknown as StepRecord, message)
    this.#step({ type: 'result', key: this.#keyBefore(of), digest: null, value, at: 0, durationMs: 0 }, message)
  }

  #step(record: StepRecord, message: string): void {
    const run = this.#run
    if (run === undefined || record.type !== 'result') throw new NeedsAllError()
    const { key, value } = record
    const name = key.slice(key.indexOf('/') + 1)
    if (name.startsWith('agent:')) throw new NeedsAllError()
    if (name.startsWith('tool:'))
      return this.#toolResult(key, isJsonObject(value) && value['asks'] !== true ? value['status'] : undefined)
    if (!isJsonObject(value) || !isJsonObject(value['charge'])) {
      if (message !== '') throw new NeedsAllError()
      return
    }
    run.results.push(record)
    if (!name.startsWith('model:') && !name.startsWith('wrap_up:')) return
    if (value['message'] !== undefined) throw new NeedsAllError()
    const request = Number.parseInt(name.slice(name.indexOf(':') + 1), 10)
    let place = 0
    for (let at = message.indexOf(toolUse); at >= 0; at = message.indexOf(toolUse, at)) {
      const end = message.indexOf('"', (at += toolUse.length))
      const id = message.slice(at, end)
      // Ids of services contain no escapes.
      if (end < 0 || id.includes('\\') || run.ids.has(id)) throw new NeedsAllError()
      run.ids.add(id)
      run.open.add(`tool:${request}:${place++}:${id}`)
      run.calls++
    }
  }

  #toolResult(key: string, status: unknown): void {
    const run = this.#run
    const isAsked = run?.open.delete(key.slice(key.indexOf('/') + 1)) ?? false
    if (run === undefined || !isAsked || typeof status !== 'string') throw new NeedsAllError()
    if (status !== 'done' && status !== 'open') run.failedCalls++
  }

  #valueOf(start: number, end: number): Fields {
    const value = valueOfWhole(this.#textOf(start, end))
    return value['payloads'] === undefined ? value : withPayloads(value, payloadsFolder(this.#path))
  }

  #textOf(start: number, end: number): string {
    return this.#isAscii ? this.#text.slice(start, end) : this.#bytes.toString('utf8', start, end)
  }
}

/** Copies a substring: it would keep the whole file's text in memory. */
function copyOf(part: string): string {
  return Buffer.from(part).toString()
}
