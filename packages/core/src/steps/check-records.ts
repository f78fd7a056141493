import { ConfigurationError } from '../values/errors.ts'
import { isJsonObject } from '../values/json.ts'
import type { StepRecord } from './step-record.ts'

type StartRecord = Extract<StepRecord, { readonly type: 'start' }>

// Spec R-RES-8.
/**
 * Validates the start of a run's record before the record is used, since it may come from a file.
 * @throws ConfigurationError if these are not the records of one run. The error names the invalid entry and says what to
 * do.
 */
export function startOfRecord(records: readonly StepRecord[]): StartRecord {
  // Plain JavaScript and JSON may contain anything.
  const value: unknown = records
  if (!Array.isArray(value)) {
    const what = typeof value === 'object' ? (value === null ? 'null' : 'an object') : nameOf(typeof value)
    throw new ConfigurationError(`The record must be a list of entries, but it is ${what}.`)
  }
  for (const [index, entry] of value.entries()) {
    const problem = problemOf(entry)
    if (problem !== undefined) {
      throw new ConfigurationError(
        `Entry ${index} of the record ${problem}. The record was damaged, or written by another version.`,
      )
    }
  }
  const [first] = records
  if (first === undefined || !isOwnStart(first)) {
    throw new ConfigurationError(
      "The record has no start: its first entry must be the run's own start. Pass all records of one run, in order; a run without records is started with startRun.",
    )
  }
  const second = records.findIndex((record, index) => index > 0 && isOwnStart(record))
  if (second > 0) {
    throw new ConfigurationError(
      `The record has more than one run: entry ${second} starts another. Pass the records of one run.`,
    )
  }
  return first
}

/** Whether the record starts the run itself, not one of its agents. */
export function isOwnStart(record: StepRecord): record is StartRecord {
  return record.type === 'start' && record.scope === ''
}

function nameOf(type: string): string {
  return type === 'undefined' ? type : `a ${type}`
}

/** Validators of the required fields, by type of entry. */
const fieldProblems: {
  readonly [type in StepRecord['type']]: (entry: { readonly [field: string]: unknown }) => string | undefined
} = {
  start: ({ start }) =>
    isJsonObject(start) && isJsonObject(start['run']) && isJsonObject(start['spent']) && Array.isArray(start['added'])
      ? undefined
      : 'has no start',
  lap: ({ lap }) =>
    isJsonObject(lap) && isJsonObject(lap['spent']) && Array.isArray(lap['added']) ? undefined : 'has no lap',
  intent: keyed,
  result: keyed,
  control: keyed,
  rewind: ({ entries }) => (typeof entries === 'number' ? undefined : 'has no number of entries'),
  stage: ({ stage }) => (isJsonObject(stage) && typeof stage['id'] === 'string' ? undefined : 'has no stage'),
  end: ({ terminal }) => (isJsonObject(terminal) ? undefined : 'has no terminal'),
}

function keyed({ key }: { readonly [field: string]: unknown }): string | undefined {
  return typeof key === 'string' ? undefined : 'has no key'
}

function problemOf(entry: unknown): string | undefined {
  if (!isJsonObject(entry)) return entry === null ? 'is null' : 'is not an object'
  const { type } = entry
  if (typeof type !== 'string' || !Object.hasOwn(fieldProblems, type))
    return `has an unknown type: ${JSON.stringify(type)}`
  // A key of the table is a type of entry.
  return fieldProblems[type as StepRecord['type']](entry)
}
