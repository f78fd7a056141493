import { isAscii } from 'node:buffer'
import { closeSync } from 'node:fs'
import { misfitOfRecord, type StepRecord } from '@halting/core/steps'
import { isJsonObject } from '@halting/core/adapters'
import { readSized } from './files/private-file.ts'
import { openSizedSync } from './files/regular-file.ts'
import { JournalDecoder } from './format/decoder.ts'
import { foldMark } from './format/fold.ts'
import { callIdOf, type Fields } from './format/encoder.ts'
import { isWholeLine, valueOfWhole } from './format/line.ts'
import { payloadsFolder, withPayloads } from './format/payloads.ts'
import { checkHead, titleIn } from './read-journal.ts'

// Most of a session is what was said, which a list does not show. Its lines are checked and not parsed: of a message only the record behind it is. What
// that leaves open is not guessed: the session is read whole then.

/** What a list of sessions shows of one, and its figures are made of. */
export interface SessionOutline {
  /** Id of the session. */
  readonly sessionId: string
  /** Working directory of the session. */
  readonly cwd: string
  /** What it was called when it began. */
  readonly title?: string
  /** Its runs, in order. */
  readonly runs: readonly RunOutline[]
}

/** A run that ended. */
export interface RunOutline {
  /** How it began, with what was said then. */
  readonly start: Extract<StepRecord, { readonly type: 'start' }>
  /** Results with a charge, without their messages. */
  readonly results: readonly StepRecord[]
  /** How it ended, without what was said then. */
  readonly end: Extract<StepRecord, { readonly type: 'end' }>
  /** Calls of tools that were asked for. */
  readonly calls: number
  /** Calls that failed. */
  readonly failedCalls: number
}

/** Larger files are not put into memory at once. */
const mostBytes = 2 * 1_024 * 1_024

/** All of the session has to be read. */
class NeedsAllError extends Error {
  override readonly name = 'NeedsAllError'
}

let sharedBuffer: Buffer = Buffer.alloc(0)

// Spec R-SESS-8d.
/**
 * Reads the outline of a session. Undefined for one that must be read whole: a run did not end, its conversation was rewound, subagents worked in it, a call
 * has no result of its own, another version wrote it, it is large, or something is not as it should be.
 */
export function readOutline(path: string): SessionOutline | undefined {
  try {
    const bytes = bytesOf(path)
    return bytes === undefined ? undefined : new OutlineReader(bytes, path).read()
  } catch {
    // Reading all of it says what is wrong, and where.
    return undefined
  }
}

/** Until the next file is read. */
function bytesOf(path: string): Buffer | undefined {
  const { file, size } = openSizedSync(path)
  try {
    if (size === 0 || size > mostBytes) return undefined
    if (sharedBuffer.length < size) sharedBuffer = Buffer.allocUnsafeSlow(Math.max(size, 1 << 17))
    const bytes = readSized(file, size, sharedBuffer)
    return bytes.length < size ? undefined : bytes
  } finally {
    closeSync(file)
  }
}

/** How lines of records without a message begin, in the second format and in the first. */
const ownStarts = ['{"record":{"', '{"type":"halting","record":{"'] as const
const foldStart = foldMark.slice(1)
/** The record of a message is behind it, and in no text: quotation marks are escaped there. */
const recordField = ',"record":{"'
/** How a call stands in a message, up to its id. What looks so in an input of a call has no step. */
const toolUse = '{"type":"tool_use","id":"'

/** How a lap ends whose entries are messages of other lines: no result stands in it itself. In the first format and of a lap that says all that was spent nothing is behind them. */
const plainAdded =
  /"added":\[(?:\{"kind":"assistant","id":"[^"\\]*","message":(?:\d+|"[^"\\]*")\}|\{"kind":"user","id":"[^"\\]*","message":\{"role":"user","content":\{"blocks":\[(?:\{"ref":(?:\d+|"[^"\\]*")\}|,)*\]\}\},"origin":"tool_results"\}|\["[ar]","[^"\\]*"(?:,\d+)+\]|,)*\]\}\},"sum":"[\da-f]{8}"\}$/y
const wholeLap = /^\{(?:"type":"halting",)?"record":\{"type":"lap","lap":\{"scope":"","transition":"[a-z_]+","spent":\{/
/** The same of a lap that says what changed, behind them. */
const plainLap =
  /^\{"record":\{"type":"lap","lap":\{"scope":"","transition":"[a-z_]+","added":\[(?:\["[ar]","[^"\\]*"(?:,\d+)+\]|,)*\]\}\},"delta":/

/** The step of a result, by the line of its intent or by its key, up to what it came to. */
const stepStart = String.raw`^,"record":\{(?:"of":(\d+)|"type":"result","key":"([^"\\]+)","digest":(?:"[^"\\]*"|null)),"value":`
const lineEnd = String.raw`(?:,"at":[\d.]+)?,"durationMs":[\d.]+\}(?:,"same":[123])?,"sum":"[\da-f]{8}"\}$`

/** All of what is behind the message of most results of tools, with the status. To parse it would take several times as long. */
const plainResult = new RegExp(String.raw`${stepStart}\{"status":"([a-z_]+)","isError":(?:true|false)\}${lineEnd}`)

/** The same of most requests: the model, and what it was charged. */
const plainReply = new RegExp(
  String.raw`${stepStart}\{"kind":"answered","streamError":null(?:,"grant":\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\})?,"promptDigest":"[^"\\]*","charge":\{"model":"([^"\\{}]*)","nanos":(\d+),"tokens":(\d+),"known":(true|false)(?:,"usage":\{[^{}]*\})?\}\}${lineEnd}`,
)

/** How a result of a tool stands in its line, up to the id of its call. */
const resultStart = '{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":'

const intentKey = /^\{(?:"type":"halting",)?"record":\{"type":"intent","key":"([^"\\]+)"/
/** Longer ones are read with all of the session. */
const longestKey = 400

/** A run that did not end yet. */
interface OpenRun {
  readonly start: RunOutline['start']
  readonly results: StepRecord[]
  /** Calls that were asked for and have no result yet, by the names of their steps. */
  readonly open: Set<string>
  readonly ids: Set<string>
  calls: number
  failedCalls: number
}

class OutlineReader {
  readonly #bytes: Buffer
  /** A character for each byte. */
  readonly #text: string
  readonly #isAscii: boolean
  readonly #path: string
  readonly #decoder = new JournalDecoder()
  readonly #runs: RunOutline[] = []
  #head: Fields | undefined
  #run: OpenRun | undefined
  /** Lines of what was said before a run began, by their numbers. */
  #messagesBeforeRun: (readonly [number: number, start: number, end: number])[] = []
  /** Where the lines of intents without a result begin, by their numbers. */
  readonly #intents = new Map<number, number>()
  /** Ids of models, as texts of their own. */
  readonly #models = new Map<string, string>()
  /** The number of the line at hand; the first one is 0. */
  #number = 0

  constructor(bytes: Buffer, path: string) {
    this.#bytes = bytes
    this.#path = path
    this.#isAscii = isAscii(bytes)
    this.#text = bytes.toString('latin1')
  }

  /** @throws NeedsAllError, or whatever reading a line throws. */
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

  /** `at`: the first field of its record. */
  #ownLine(start: number, end: number, at: number): void {
    // The result of a step that another line names.
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
        // One of a subagent, or with an answer to a call that had no step.
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

  /** Other lines may name it by its number. */
  #decode(number: number, start: number, end: number): void {
    this.#decoder.lines = number
    this.#decoder.add(this.#valueOf(start, end))
  }

  #end(line: string, record: StepRecord): void {
    this.#checkAnswers(line)
    const run = this.#run
    // A call that has no result was not run, or denied: its result stands elsewhere.
    if (run === undefined || record.type !== 'end' || record.scope !== '' || run.open.size > 0)
      throw new NeedsAllError()
    const { start, results, calls, failedCalls } = run
    const ended = { ...record, added: [] }
    // The file may be from anybody, checksums and all.
    if (misfitOfRecord(start) !== undefined || misfitOfRecord(ended) !== undefined) throw new NeedsAllError()
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
    // Were it inside of something else, this would be no JSON.
    const { record, payloads } = valueOfWhole(`{${behind.slice(1)}`)
    if (payloads !== undefined) throw new NeedsAllError()
    this.#result(record, line.slice(0, at))
  }

  /** The key of the intent so many lines before this one, which has no other result. */
  #keyBefore(distance: number): string {
    const number = this.#number - distance
    const start = this.#intents.get(number)
    if (start === undefined || !this.#intents.delete(number)) throw new NeedsAllError()
    const [, key] = intentKey.exec(this.#text.slice(start, start + longestKey)) ?? []
    // Its characters are read as what they are, and not as bytes of one.
    if (key === undefined || !isAscii(Buffer.from(key, 'latin1'))) throw new NeedsAllError()
    return key
  }

  /** The same of a line with the result of a tool, which names its call, too. */
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

  /** `message`: the line before its record. */
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
      // One with an escape in it is none of a service.
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

/** A part of a text that is cut out has all of that text stay in memory: a row would hold its file. */
function copyOf(part: string): string {
  return Buffer.from(part).toString()
}
