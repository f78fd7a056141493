// Tests R-SESS-8a of docs/spec: reading the ends of a file without parsing gives the same as parsing them.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { startRun, streamRun } from '@halting/core'
import { scriptedModel } from '@halting/core/testing'
import * as fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { lineOf } from '../../src/format/line.ts'
import { openJournal } from '../../src/open-journal.ts'
import { readSessionEnds } from '../../src/session-ends.ts'

const folder = mkdtempSync(join(tmpdir(), 'halting-ends-'))
const firstFormat = join(import.meta.dirname, '../format/fixtures/format-1.jsonl')
type Fields = { readonly [field: string]: unknown }
let sessions: readonly (readonly string[])[] = []

beforeAll(async () => {
  const path = join(folder, 'session.jsonl')
  const journal = await openJournal({ path, sessionId: 's', cwd: '/work', version: '0', title: 'Näme' })
  const model = scriptedModel([{ text: 'Done.' }])
  const start = startRun({ prompt: 'Räume auf: "a\\b"', sessionId: 's' })
  await streamRun(start, { model, maxTurns: 9, steps: journal.steps() }).ended
  await journal.close()
  sessions = [path, firstFormat].map((each) => readFileSync(each, 'utf8').trimEnd().split('\n'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** The ends of a file with these lines. */
function endsOf(lines: readonly string[]): unknown {
  const path = join(folder, 'other.jsonl')
  writeFileSync(path, lines.map((line) => `${line}\n`).join(''))
  return readSessionEnds(path)
}

const valueOf = (line = ''): Fields => {
  const { sum: _sum, ...fields } = JSON.parse(line) as Fields
  return fields
}
const summed = (value: Fields): string => lineOf(value).trimEnd()
/** The same value in a spelling that no version writes: it must be parsed. */
function spaced(line: string): string {
  const text = `{ ${line.slice(1).replace(/,"sum":"[\da-f]{8}"\}$/, '')}`
  return `${text},"sum":"${crc32(text).toString(16).padStart(8, '0')}"}`
}

/** The paths of all values in JSON. */
function placesIn(value: unknown, at: readonly string[] = []): readonly (readonly string[])[] {
  if (typeof value !== 'object' || value === null) return [at]
  return [at, ...Object.entries(value).flatMap(([name, each]) => placesIn(each, [...at, name]))]
}

function put(value: unknown, [name = '', ...rest]: readonly string[], other: unknown): unknown {
  const copy = (Array.isArray(value) ? [...(value as readonly unknown[])] : { ...(value as object) }) as {
    [field: string]: unknown
  }
  copy[name] = rest.length === 0 ? other : put(copy[name], rest, other)
  return copy
}

test('returns the same as parsing, for both formats', () => {
  const [second = [], first = []] = sessions
  expect(endsOf(second)).toEqual({
    cwd: '/work',
    title: 'Näme',
    firstPrompt: 'Räume auf: "a\\b"',
    sums: { runs: 1, turns: 1, costUsd: 0, isRewound: false },
    ended: 'completed',
  })
  for (const lines of [second, first]) expect(endsOf(lines)).toEqual(endsOf(lines.map(spaced)))
})

test('returns the same as parsing, or undefined, for any content with valid checksums', () => {
  const aValue = fc.oneof(
    fc.constantFrom(null, -1, 0, 1.5, 1e300, 'completed', 'prompt', '', true, [], {}, [null], [{}]),
    fc.jsonValue({ maxDepth: 2 }),
  )
  const aPlace = fc.record({ session: fc.nat(1), end: fc.boolean(), line: fc.nat(2), place: fc.nat() })
  fc.assert(
    fc.property(aPlace, aValue, fc.boolean(), ({ session, end, line, place }, value, isAdded) => {
      const lines = sessions[session] ?? []
      const at = end ? lines.length - 1 : line
      const before = valueOf(lines[at])
      const places = placesIn(before).slice(1)
      const chosen = places[place % places.length] ?? []
      // Another field next to it, before the checksum. It may have one of the names that the reader searches for.
      const name = ['added', 'session', 'at', 'record', 'x'][place % 5] ?? ''
      const changed = isAdded ? put(before, [...chosen.slice(0, -1), name], value) : put(before, chosen, value)
      const forged = lines.with(at, summed(changed as Fields))
      expect(endsOf(forged)).toEqual(endsOf(forged.map(spaced)))
    }),
    { numRuns: 150 },
  )
})

test('ignores a line with an invalid checksum', () => {
  const [lines = []] = sessions
  for (const at of [0, 1, 2, lines.length - 1]) {
    const line = lines[at] ?? ''
    for (const cut of [10, line.length - 40, line.length - 4]) {
      const flipped = `${line.slice(0, cut)}${String.fromCodePoint((line.codePointAt(cut) ?? 0) ^ 1)}${line.slice(cut + 1)}`
      expect(endsOf(lines.with(at, flipped))).toBeUndefined()
    }
  }
})
