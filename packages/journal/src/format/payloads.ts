import { createHash } from 'node:crypto'
import { closeSync, readFileSync } from 'node:fs'
import { basename, dirname, extname, join } from 'node:path'
import { HaltingError } from '@halting/core'
import { messageOf } from '@halting/core/adapters'
import { openRegularSync } from '../files/regular-file.ts'

/** A long text that stands in a file of its own, named by its hash. */
export interface Payload {
  readonly sha256: string
  readonly text: string
}

/** Where it stands in its line: the fields and indexes that lead there. Beside the data, so that no data can be taken for it. */
interface Place {
  readonly at: readonly (string | number)[]
  readonly sha256: string
}

type Fields = { readonly [field: string]: unknown }

/** Longer texts do not stand in a line, in bytes. */
const longestText = 1_000_000

/** The folder of a journal's payloads: `<session>/payloads` beside it. */
export function payloadsFolder(journal: string): string {
  return join(dirname(journal), basename(journal, extname(journal)), 'payloads')
}

/** Whether the JSON of a line is so long that a text in it may have to stand in a file of its own. */
export function mayHavePayloads(json: string): boolean {
  // No character is longer than three bytes for each unit of its string.
  return json.length * 3 >= longestText
}

/** Takes long texts out of the JSON of a line, which says in their place where they are. */
export function withoutPayloads(json: string): { readonly json: string; readonly payloads: readonly Payload[] } {
  // No character is longer than three bytes for each unit of its string.
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
  // What JSON makes of classes and absent fields is what the line holds.
  const short = walk(JSON.parse(json), []) as Fields
  return payloads.length === 0 ? { json, payloads } : { json: JSON.stringify({ ...short, payloads: places }), payloads }
}

function isLong(text: string): boolean {
  // Half a character has no bytes in a file; such a text stays in its line.
  return text.length * 3 > longestText && Buffer.byteLength(text) > longestText && !/\p{Surrogate}/u.test(text)
}

/**
 * Puts the texts back.
 * @throws HaltingError `driver` for one that is missing or damaged.
 * @throws TypeError for a place that the line does not have.
 */
export function withPayloads(line: Fields, folder: string): Fields {
  if (!Array.isArray(line['payloads'])) return line
  const { payloads, ...short } = line
  // What `withoutPayloads` writes. Anybody can make a checksum: a place is looked for, and not believed.
  for (const { at, sha256 } of payloads as readonly Place[]) {
    const last = at.at(-1) ?? ''
    const holder = at.slice(0, -1).reduce<unknown>(partOf, short)
    if (typeof partOf(holder, last) !== 'string') throw new TypeError('it has no place for a text of a file beside it')
    const value = readPayload(folder, sha256)
    // An object: it has this part.
    Object.defineProperty(holder as object, last, { value, enumerable: true, writable: true, configurable: true })
  }
  return short
}

/** A part of its own: what all objects have is no place for a text. */
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
