import { isAscii } from 'node:buffer'
import { closeSync, readSync } from 'node:fs'
import { isEndingReason, isJsonObject, textOf } from '@halting/core/adapters'
import type { StepRecord } from '@halting/core/steps'
import { openSizedSync } from './files/regular-file.ts'
import { JournalDecoder } from './format/decoder.ts'
import { hasSum, valueOf } from './format/line.ts'
import { payloadsFolder, withPayloads } from './format/payloads.ts'
import { checkHead, titleIn } from './read-journal.ts'
import type { SessionSums } from './format/session-sums.ts'
import type { SessionOutline } from './session-outline.ts'

/** Summary of a session from its first lines and the end of its last run. */
export interface SessionEnds {
  /** Working directory of the session. */
  readonly cwd: string
  /** Title of the session; undefined if it has none. */
  readonly title?: string
  /** First prompt of the session; '' if it has none. */
  readonly firstPrompt: string
  /** Sums over its runs. */
  readonly sums: SessionSums
  /** How the last run ended. */
  readonly ended: string
}

// The first prompt is at the beginning, and an end has the sums. The smaller sizes usually suffice; long pasted texts
// need the larger ones.
const headBytes = [8 * 1_024, 64 * 1_024] as const
const tailBytes = [8 * 1_024, 256 * 1_024] as const

// Spec R-SESS-8a.
/**
 * Reads the ends of a session. Undefined if it must be read completely: its last run did not end, its conversation was
 * rewound, an earlier version wrote it, or something is invalid. The middle is not read: `readJournal` finds damage
 * there.
 */
export function readSessionEnds(path: string): SessionEnds | undefined {
  try {
    // For thousands of small reads, promises take several times longer than the disk.
    return withFile(path, (file, size) => {
      if (size === 0) return undefined
      const end = lastEnd(file, size)
      if (end === undefined || end.sums.isRewound) return undefined
      let head: Beginning | undefined
      for (const bytes of headBytes) head ??= beginningIn(pieceOf(file, 0, Math.min(size, bytes)), path)
      return head === undefined ? undefined : { ...head, ...end }
    })
  } catch {
    // Reading everything finds out what is wrong, and where.
    return undefined
  }
}

/**
 * Reads what a list shows of a session, without parsing messages. Undefined if it must be read completely, for instance
 * because its last run did not end.
 */
export async function outlineOf(path: string): Promise<SessionOutline | undefined> {
  const { readOutline: outlineIn } = await import('./session-outline.ts')
  return outlineIn(path)
}

/** Whether the last run of a session ended, and nothing followed. False if that is unclear. */
export function hasEnded(path: string): boolean {
  try {
    return withFile(path, (file, size) => lastEnd(file, size) !== undefined)
  } catch {
    return false
  }
}

/**
 * Reads working directory and title from the first line. @throws the errors of `readJournal` for other files, or a
 * system error.
 */
export function readSessionHead(path: string): Pick<SessionEnds, 'cwd' | 'title'> {
  return withFile(path, (file) => {
    const bytes = pieceOf(file, 0, headBytes[1])
    const head = valueOf(bytes, 0, bytes.indexOf(10))
    checkHead(head, path)
    return { cwd: String(head['cwd']), ...titleIn(head) }
  })
}

function withFile<T>(path: string, work: (file: number, size: number) => T): T {
  const { file, size } = openSizedSync(path)
  try {
    return work(file, size)
  } finally {
    closeSync(file)
  }
}

/** One buffer for all sessions: a buffer for each of thousands of sessions would cause constant garbage collections. */
let sharedBuffer: Buffer = Buffer.alloc(0)

/** Returns these bytes; valid until the next call. */
function pieceOf(file: number, from: number, length: number): Buffer {
  if (sharedBuffer.length < length) sharedBuffer = Buffer.allocUnsafeSlow(length)
  return sharedBuffer.subarray(0, readSync(file, sharedBuffer, 0, length, from))
}

/** Returns the end of the last run, if it is the last line. */
function lastEnd(file: number, size: number): LastEnd | undefined {
  let end: LastEnd | 'elsewhere' | undefined = 'elsewhere'
  for (const most of tailBytes) {
    const bytes = Math.min(size, most)
    if (end === 'elsewhere') end = endIn(pieceOf(file, size - bytes, bytes))
  }
  return end === 'elsewhere' ? undefined : end
}

type LastEnd = Pick<SessionEnds, 'sums' | 'ended'>

/** Returns the end of the last run, if it is the last line; `elsewhere` if that line starts before these bytes. */
function endIn(bytes: Buffer): LastEnd | 'elsewhere' | undefined {
  const end = bytes.length - 1
  const start = bytes.lastIndexOf(10, end - 1) + 1
  if (bytes[end] !== 10) return undefined
  if (start === 0) return 'elsewhere'
  const plain = plainEndIn(bytes, start, end)
  if (plain !== undefined) return plain
  const { record, session, ended } = valueOf(bytes, start, end)
  // The checksum proves that the journal wrote the line.
  if (!isSums(session)) return undefined
  if (ended !== undefined) return isEndingReason(ended) ? { sums: session, ended } : undefined
  const { type, scope, terminal } = record as Partial<Extract<StepRecord, { readonly type: 'end' }>>
  if (type !== 'end' || scope !== '' || !isEndingReason(terminal?.reason)) return undefined
  return { sums: session, ended: terminal.reason }
}

/** Beginning of the line of a run's end, in both formats. */
const endStart = /^\{(?:"type":"halting",)?"record":\{"type":"end","scope":"","terminal":\{"reason":"([a-z_]+)",/
/** The end of that line. Text directly before the checksum, the last field, is a field of the line itself, not of a nested object. */
const endTail =
  /,"session":\{"runs":(\d+),"turns":(\d+),"costUsd":(\d+(?:\.\d+)?(?:e[+-]\d+)?),"isRewound":(true|false)\},"sum":"([\da-f]{8})"\}$/
/** More characters than these have. */
const [longestStart, longestTail] = [128, 256]

/** Matches the line of most ends: parsing it takes several times as long. Undefined for any other form. */
function plainEndIn(bytes: Buffer, start: number, end: number): LastEnd | undefined {
  const [, ended] = endStart.exec(bytes.toString('latin1', start, Math.min(end, start + longestStart))) ?? []
  if (!isEndingReason(ended)) return undefined
  const tail = endTail.exec(bytes.toString('latin1', Math.max(start, end - longestTail), end))
  if (tail === null) return undefined
  const [, runs, turns, costUsd, isRewound, sum = ''] = tail
  if (!hasSum(bytes, start, end, sum)) return undefined
  const sums = { runs: Number(runs), turns: Number(turns), costUsd: Number(costUsd), isRewound: isRewound === 'true' }
  return { sums, ended }
}

/** Whether the sums are valid: the file may be forged, including checksums, and a list prints them. */
function isSums(value: unknown): value is SessionSums {
  if (!isJsonObject(value)) return false
  const { runs, turns, costUsd, isRewound } = value
  return [runs, turns, costUsd].every((each) => typeof each === 'number' && each >= 0) && typeof isRewound === 'boolean'
}

type Beginning = Pick<SessionEnds, 'cwd' | 'title' | 'firstPrompt'>

/** Beginnings of a user message in both formats, and of the start of a run. */
const userStart = /\{(?:"parentUuid":null,"isSidechain":false,)?"type":"user","message":\{"role":"user","content":"/y
const runStart = /\{(?:"type":"halting",)?"record":\{"type":"start","scope":"","start":\{/y
const addedField = ',"added":['
/**
 * End of a run's start with a single prompt, which is in the line it refers to. Only the start itself can end like
 * this, not a nested object.
 */
const promptTail =
  /,"added":\[\{"kind":"user","id":"[^"\\]*","message":\{"role":"user","content":\{"ref":(?:(\d+)|"([^"\\]+)")\}\},"origin":"prompt"\}\]\},"at":[\d.]+\},"sum":"([\da-f]{8})"\}\n/y

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at
  return pattern.exec(text)
}

/**
 * Matches the beginning of most sessions: a prompt, and the run that it started, which is not parsed. Undefined for any
 * other form.
 */
function plainBeginningIn(bytes: Buffer, path: string): Beginning | undefined {
  const first = bytes.indexOf(10)
  const second = bytes.indexOf(10, first + 1)
  const third = bytes.indexOf(10, second + 1)
  if (first < 0 || second < 0 || third < 0) return undefined
  const text = bytes.toString('latin1', 0, third + 1)
  if (matchAt(userStart, text, first + 1) === null || matchAt(runStart, text, second + 1) === null) return undefined
  const added = text.lastIndexOf(addedField)
  const tail = added < second ? null : matchAt(promptTail, text, added)
  if (tail === null) return undefined
  const [, line, uuid, sum = ''] = tail
  if ((line !== '1' && uuid === undefined) || !hasSum(bytes, second + 1, third, sum)) return undefined
  const ascii = isAscii(bytes.subarray(0, second)) ? text : undefined
  const head = valueOf(bytes, 0, first, ascii)
  checkHead(head, path)
  const { message, uuid: own, payloads, record } = valueOf(bytes, first + 1, second, ascii)
  if (own !== uuid || payloads !== undefined || record !== undefined) return undefined
  const { content } = message as { readonly content: unknown }
  return typeof content === 'string' ? { cwd: String(head['cwd']), ...titleIn(head), firstPrompt: content } : undefined
}

/** Returns the first prompt, if it is within these bytes. */
function beginningIn(bytes: Buffer, path: string): Beginning | undefined {
  const plain = plainBeginningIn(bytes, path)
  if (plain !== undefined) return plain
  const decoder = new JournalDecoder()
  let head: { readonly [field: string]: unknown } | undefined
  for (let start = 0, end = bytes.indexOf(10); end >= 0; start = end + 1, end = bytes.indexOf(10, start)) {
    const line = valueOf(bytes, start, end)
    if (head === undefined) {
      checkHead((head = line), path)
      continue
    }
    decoder.add(line['payloads'] === undefined ? line : withPayloads(line, payloadsFolder(path)))
    for (const entry of entriesOf(decoder.records.pop()))
      if (entry.kind === 'user' && entry.origin === 'prompt')
        return { cwd: String(head['cwd']), ...titleIn(head), firstPrompt: textOf(entry.message.content) }
  }
  return undefined
}

function entriesOf(record: StepRecord | undefined): Extract<StepRecord, { readonly type: 'end' }>['added'] {
  if (record?.type === 'start' && record.scope === '') return record.start.added
  if (record?.type === 'lap' && record.lap.scope === '') return record.lap.added
  return record?.type === 'end' && record.scope === '' ? record.added : []
}
