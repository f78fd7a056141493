import { createHmac, randomBytes } from 'node:crypto'
import { inflateRawSync } from 'node:zlib'
import { isJsonObject } from '@halting/core/adapters'
import type { StepRecord } from '@halting/core/steps'
import { createKeyRedactor } from '@halting/models'
import { adminAddress } from './admin-address.ts'
import type { Flags } from '../flags/flags.ts'
import { counted, oneLine } from '../io/figures.ts'
import type { Program } from '../program.ts'
import { UsageError } from '../usage-error.ts'
import { sqlLiteral, queryEngine } from './engine-query.ts'
import { clusterAnswer, clusterClient } from './cluster-client.ts'

type Admin = Pick<Flags, 'cluster' | 'admin'>

/** Records with placeholders for long texts, and a function that fills them in. */
export interface RecordsWithTexts {
  readonly records: readonly StepRecord[]
  /** Returns a copy of a value in which the placeholders are replaced by their texts. */
  readonly withTexts: <Value>(value: Value) => Promise<Value>
}

/** A session and the engine partition that stores it. Without the partition, the engine searches all of them. */
export interface StoredSession {
  readonly sessionId: string
  readonly partition: string | undefined
}

/** The SQL condition for the state rows of this session. */
function inSession({ sessionId, partition }: StoredSession): string {
  const where = partition === undefined ? '' : `partition_key = ${partition} and `
  return `${where}service_name = 'halting_session' and service_key = ${sqlLiteral(sessionId)}`
}

/**
 * Reads the records of a session from number `since` on. One query to the admin address replaces many requests to a
 * worker. Records in an unknown storage form are read from a worker instead.
 * @throws UsageError
 */
export async function queryRecords(
  flags: Admin,
  session: StoredSession,
  since: number,
  program: Program,
): Promise<RecordsWithTexts> {
  const texts = new Map<string, string>()
  const redact = createKeyRedactor(program.env)
  const withTexts = async <Value>(value: Value): Promise<Value> => {
    const wanted = [...placeholdersIn(value)].filter((sha256) => !texts.has(sha256))
    for (const [sha256, text] of await readTexts(flags, session, wanted)) texts.set(sha256, redact(text))
    // This cast is safe: the result has the shape of `value`; only texts in it differ.
    return withPlaceholdersFilled(value, texts) as Value
  }
  const records = await queryStoredRecords(flags, session, since)
  if (records !== undefined) return { records, withTexts }
  return {
    records: await clusterAnswer(flags, clusterClient(flags, program).records(session.sessionId, since)),
    withTexts,
  }
}

/** Undefined if some records are stored in a form that this version does not know. */
async function queryStoredRecords(
  flags: Admin,
  session: StoredSession,
  since: number,
): Promise<readonly StepRecord[] | undefined> {
  const { origin } = new URL(adminAddress(flags))
  const key = (number: number): string => `records/${String(number).padStart(9, '0')}`
  const from = `select max(key) as key from state where ${inSession(session)} and key >= 'records/' and key <= '${key(since)}'`
  const rows = await queryEngine(
    flags,
    `select key, value_utf8 from state where ${inSession(session)} and key >= coalesce((${from}), 'records/') and key < 'records0' order by key`,
  )
  const records: StepRecord[] = []
  for (const { value_utf8: text } of rows) {
    const piece = typeof text === 'string' ? parsePiece(text) : undefined
    if (piece === undefined)
      throw new UsageError(
        `The cluster at ${origin} has invalid records of the session ${oneLine(session.sessionId, 100)}.`,
      )
    const { first, records: stored } = piece
    if (first > since + records.length) return undefined
    for (const record of stored.slice(Math.max(0, since + records.length - first))) {
      const known = parseRecord(record)
      if (known === undefined) return undefined
      records.push(known)
    }
  }
  return records
}

function parsePiece(text: string): { readonly first: number; readonly records: readonly unknown[] } | undefined {
  try {
    const piece: unknown = JSON.parse(text)
    if (!isJsonObject(piece)) return undefined
    const { first, records } = piece
    return Number.isSafeInteger(first) && Array.isArray(records) ? { first: Number(first), records } : undefined
  } catch {
    return undefined
  }
}

/** A record; long texts that are stored separately become placeholders. The reader of records validates the rest. */
function parseRecord(stored: unknown): StepRecord | undefined {
  if (!isJsonObject(stored) || stored['type'] === 'payload') return undefined
  // The reader of records validates each of them.
  if (stored['type'] !== 'packed') return stored as unknown as StepRecord
  const { record, texts } = stored
  if (!isJsonObject(record) || !Array.isArray(texts)) return undefined
  for (const location of texts) if (!insertPlaceholder(record, location)) return undefined
  return record as unknown as StepRecord
}

/** Puts a placeholder where a text was. False if the location has an unknown form. */
function insertPlaceholder(record: object, location: unknown): boolean {
  if (!isJsonObject(location) || location['inStore'] === true) return false
  const { path, sha256, bytes } = location
  if (!Array.isArray(path) || typeof sha256 !== 'string' || !/^[0-9a-f]{64}$/.test(sha256) || typeof bytes !== 'number')
    return false
  let at: unknown = record
  for (const name of path.slice(0, -1)) at = fieldOf(at, name)
  const last: unknown = path.at(-1)
  if (typeof at !== 'object' || at === null || fieldOf(at, last) !== '') return false
  Object.assign(at, { [String(last)]: `⟦${counted(bytes)} bytes ${sha256} ${placeholderMark(sha256)}⟧` })
  return true
}

function fieldOf(value: unknown, name: unknown): unknown {
  if (typeof value !== 'object' || value === null || (typeof name !== 'string' && typeof name !== 'number'))
    return undefined
  // This cast is safe: the value is a list or an object of JSON.
  return Object.hasOwn(value, name) ? (value as Readonly<Record<string | number, unknown>>)[name] : undefined
}

const placeholder = /⟦[\d,]+ bytes ([0-9a-f]{64}) ([0-9a-f]{16})⟧/g
const secret = randomBytes(32)

/** Proves that this process made a placeholder. A model or a tool can write similar text, which is shown unchanged. */
function placeholderMark(sha256: string): string {
  return createHmac('sha256', secret).update(sha256).digest('hex').slice(0, 16)
}

function* placeholdersIn(value: unknown): Generator<string> {
  if (typeof value === 'string') {
    if (!value.includes('⟦')) return
    for (const [, sha256 = '', mark] of value.matchAll(placeholder)) if (mark === placeholderMark(sha256)) yield sha256
  } else if (typeof value === 'object' && value !== null)
    for (const each of Object.values(value)) yield* placeholdersIn(each)
}

function withPlaceholdersFilled(value: unknown, texts: ReadonlyMap<string, string>): unknown {
  if (typeof value === 'string') {
    if (!value.includes('⟦')) return value
    return value.replaceAll(placeholder, (all, sha256: string, mark: string) =>
      mark === placeholderMark(sha256) ? (texts.get(sha256) ?? all) : all,
    )
  }
  if (Array.isArray(value)) return value.map((each) => withPlaceholdersFilled(each, texts))
  if (!isJsonObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, withPlaceholdersFilled(each, texts)]))
}

/** Reads texts that are stored separately, plain or compressed. A placeholder without a text stays. */
async function readTexts(
  flags: Admin,
  session: StoredSession,
  wanted: readonly string[],
): Promise<readonly (readonly [sha256: string, text: string])[]> {
  if (wanted.length === 0) return []
  const keys = wanted.map((sha256) => `'text/${sha256}'`).join(', ')
  const rows = await queryEngine(
    flags,
    `select key, value_utf8 from state where ${inSession(session)} and key in (${keys})`,
  )
  return rows.flatMap(({ key, value_utf8: text }) => {
    const stored = typeof text === 'string' ? parseText(text) : undefined
    return stored === undefined ? [] : [[String(key).slice('text/'.length), stored] as const]
  })
}

function parseText(text: string): string | undefined {
  const stored: unknown = JSON.parse(text)
  if (typeof stored === 'string') return stored
  const deflated = isJsonObject(stored) ? stored['deflated'] : undefined
  return typeof deflated === 'string' ? inflateRawSync(Buffer.from(deflated, 'base64')).toString('utf8') : undefined
}
