import { createHash } from 'node:crypto'
import { closeSync, readFileSync } from 'node:fs'
import { basename, dirname, extname, join } from 'node:path'
import { HaltingError } from '@halting/core'
import { messageOf } from '@halting/core/adapters'
import { openRegularSync } from '../files/regular-file.ts'

/** A long text in a separate file, which is named by its hash. */
export interface Payload {
  readonly sha256: string
  readonly text: string
}

/**
 * Path of a text inside its line: fields and indexes. It is stored outside the data, so that data cannot imitate it.
 */
interface Place {
  readonly at: readonly (string | number)[]
  readonly sha256: string
}

type Fields = { readonly [field: string]: unknown }

/** Longer texts, in bytes, are stored in separate files. */
const longestText = 1_000_000

/** Returns the folder of a journal's payloads: `<session>/payloads` next to it. */
export function payloadsFolder(journal: string): string {
  return join(dirname(journal), basename(journal, extname(journal)), 'payloads')
}

/** Whether a line is long enough to have a text for a separate file. */
export function mayHavePayloads(json: string): boolean {
  // A UTF-16 unit has at most three bytes.
  return json.length * 3 >= longestText
}

/** Removes long texts from the JSON of a line, which then refers to them. */
export function withoutPayloads(json: string): { readonly json: string; readonly payloads: readonly Payload[] } {
  // A UTF-16 unit has at most three bytes.
  if (json.length * 3 <= longestText) return { json, payloads: [] }
  const payloads: Payload[] = []
  const places: Place[] = []
  const walk = (value: unknown, at: readonly (string | number)[]): unknown => {
    if (typeof value === 'string') {
      if (!isLong(value)) return value
      const sha256 = hashOf(value)
      payloads.push({ sha256, text: value })
      places.push({ at, sha256 })
      return `[${Buffer.byteLength(value)} bytes are in payloads/${sha256}]`
    }
    if (Array.isArray(value)) return value.map((each, index) => walk(each, [...at, index]))
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([field, each]) => [field, walk(each, [...at, field])]))
  }
  // Walks the parsed JSON, because the line stores what JSON makes of classes and missing fields.
  const short = walk(JSON.parse(json), []) as Fields
  return payloads.length === 0 ? { json, payloads } : { json: JSON.stringify({ ...short, payloads: places }), payloads }
}

function isLong(text: string): boolean {
  // A lone surrogate cannot be stored in a file, so such a text stays in its line.
  return text.length * 3 > longestText && Buffer.byteLength(text) > longestText && !/\p{Surrogate}/u.test(text)
}

/**
 * Restores the texts.
 * @throws HaltingError `driver` for a missing or damaged file.
 * @throws TypeError for a path that the line does not have.
 */
export function withPayloads(line: Fields, folder: string): Fields {
  if (!Array.isArray(line['payloads'])) return line
  const { payloads, ...short } = line
  // Written by `withoutPayloads`. Checksums can be forged, so paths are verified.
  for (const { at, sha256 } of payloads as readonly Place[]) {
    const last = at.at(-1) ?? ''
    const holder = at.slice(0, -1).reduce<unknown>(partOf, short)
    if (typeof partOf(holder, last) !== 'string') throw new TypeError('it refers to a text that it does not contain')
    const value = readPayload(folder, sha256)
    // It is an object with this part.
    Object.defineProperty(holder as object, last, { value, enumerable: true, writable: true, configurable: true })
  }
  return short
}

/** Returns an own property: inherited properties cannot have a text. */
function partOf(holder: unknown, part: string | number): unknown {
  if (typeof holder !== 'object' || holder === null || !Object.hasOwn(holder, part)) return undefined
  return (holder as { readonly [part: string | number]: unknown })[part]
}

function readPayload(folder: string, sha256: string): string {
  const path = join(folder, basename(sha256))
  let text: string
  try {
    text = textOf(path)
  } catch (error) {
    throw new HaltingError(
      'driver',
      `The session has a part in the file ${path}, which cannot be read: ${messageOf(error)}. Put it back, or begin a new session.`,
      { cause: error },
    )
  }
  if (hashOf(text) === sha256) return text
  throw new HaltingError(
    'driver',
    `The session has a part in the file ${path}, which is damaged: its content is not that of its name. Put it back, or begin a new session.`,
  )
}

function textOf(path: string): string {
  const file = openRegularSync(path)
  try {
    return readFileSync(file, 'utf8')
  } finally {
    closeSync(file)
  }
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
