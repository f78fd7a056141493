import { ConfigurationError, HaltingError, messageOf } from '../values/errors.ts'
import { isName, isObject, isText, optional, throwInvalidOption } from '../values/validators.ts'
import type { EndingReason } from '../endings/ending.ts'
import { isIsoTimeOfCalendar } from '../values/iso-time.ts'
import type { StepRecord } from './step-record.ts'
import type { SessionHead, SessionListOptions } from './session-store.ts'
import { validateRecord } from './stored-record.ts'

// Shared parts of stores with many sessions: records as JSON and back, session ids, and errors.

/** The format version of a store's session records. A store refuses sessions with a higher version. */
export const sessionFormat = 1

/**
 * Parses the stored records of a session, in order from the first.
 * @throws HaltingError `driver` for a damaged record, with its number.
 */
export function decodeRecords(sessionId: string, texts: readonly string[]): readonly StepRecord[] {
  return texts.map((text, number) => {
    let record: unknown
    try {
      record = JSON.parse(text)
    } catch (error) {
      throw damagedRecord(sessionId, number, messageOf(error))
    }
    const problem = validateRecord(record)
    if (problem !== undefined) throw damagedRecord(sessionId, number, problem)
    // Every field that the code reads was validated.
    return record as StepRecord
  })
}

/** The error for an unreadable record; records are numbered from 0. */
export function damagedRecord(sessionId: string, number: number, why: string): HaltingError {
  return new HaltingError(
    'driver',
    `Record ${number} of the session ${sessionId} is damaged: ${why}. Restore the store from a backup, or remove the session.`,
  )
}

/** The error for a session that another process has open. `holder` names that process: `process 41 on host-a`. */
export function sessionInUse(sessionId: string, holder: string): HaltingError {
  return new HaltingError(
    'driver',
    `The session ${sessionId} is in use by ${holder}. Close it there, or use another session.`,
  )
}

/** The error for a process whose lock on a session was taken over, or whose session was removed. */
export function sessionTakenOver(sessionId: string, by?: string): HaltingError {
  const who = by === undefined ? 'another process' : by
  return new HaltingError(
    'driver',
    `The session ${sessionId} was taken over by ${who}, or removed, while this process had it open. This process stores nothing more; open the session again.`,
  )
}

/** The error for a session that a later version wrote. */
export function sessionOfLaterVersion(sessionId: string, format: number): HaltingError {
  return new HaltingError(
    'driver',
    `The session ${sessionId} was written in format ${format} by a later version; this one reads formats up to ${sessionFormat}. Update the packages of halting.`,
  )
}

/**
 * Validates the arguments of `open`.
 * @throws ConfigurationError for an id that is empty, longer than 200 characters or has control characters, and for a
 * head with invalid fields.
 */
export function validateSessionArguments(sessionId: unknown, head?: unknown): void {
  isStorable('sessionId', sessionId)
  // Just checked to be a string.
  if ((sessionId as string).length > 200) throwInvalidOption('sessionId', 'at most 200 characters long', sessionId)
  if (head === undefined) return
  isObject('an object, such as { title }', {
    cwd: optional(isStorable),
    title: optional(isStorable),
    version: optional(isStorable),
    createdAt: optional(isIsoTime),
  })('head', head)
}

/** Validates the options of `list`. @throws ConfigurationError for fields of other types. */
export function validateListOptions(options: SessionListOptions): void {
  isObject('an object, such as { limit }', {
    cwd: optional(isText),
    limit: optional((name, value) => {
      if (!(Number.isSafeInteger(value) && Number(value) > 0)) throwInvalidOption(name, 'a whole number above 0', value)
    }),
    after: optional(isName),
  })('options', options)
}

/** The error when the session that precedes the requested page was removed. */
export function noSuchPage(after: string): ConfigurationError {
  return new ConfigurationError(`There is no session ${after} to list from. Omit \`after\` to list from the newest.`)
}

/** Rejects characters that databases store differently: control characters and lone surrogates. */
function isStorable(name: string, value: unknown): void {
  isName(name, value)
  // Just checked to be a string.
  const text = value as string
  // oxlint-disable-next-line no-control-regex -- these are what is looked for
  if (/[\u0000-\u001f\u007f]/.test(text) || !text.isWellFormed())
    throwInvalidOption(name, 'a text without control characters and halves of surrogate pairs', value)
}

function isIsoTime(name: string, value: unknown): void {
  if (typeof value !== 'string' || !isIsoTimeOfCalendar(value))
    throwInvalidOption(name, 'a time in ISO 8601, such as 2026-01-31T12:00:00.000Z', value)
}

/** How the newest run of a session ended after this record: null while it is open, undefined if the record does not change it. */
export function lastReasonOf(record: StepRecord): EndingReason | null | undefined {
  if (record.type === 'start' && record.scope === '') return null
  return record.type === 'end' && record.scope === '' ? record.terminal.reason : undefined
}

/** The fields that are present in a head. */
export function headOf({ cwd, title, version, createdAt }: SessionHead): SessionHead {
  return {
    ...(cwd !== undefined && { cwd }),
    ...(title !== undefined && { title }),
    ...(version !== undefined && { version }),
    ...(createdAt !== undefined && { createdAt }),
  }
}
