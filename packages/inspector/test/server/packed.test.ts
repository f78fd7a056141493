// Holds rules of docs/spec: R-LIST-9
import { isDeepStrictEqual } from 'node:util'
import { anything, array, assert, constantFrom, dictionary, integer, oneof, property, record, string } from 'fast-check'
import { expect, test } from 'vitest'
import { unpack } from '../../src/page/data/figures.ts'
import { figureKinds, figureLines, outlineOf } from '../../src/server/figures.ts'
import { packed } from '../../src/server/packed.ts'
import { generatedSession } from '../support/generated-session.ts'

const throughJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value))
const roundTrip = (values: readonly unknown[]): unknown =>
  unpack(throughJson(packed(values)) as ReturnType<typeof packed>)

const label = oneof(constantFrom('Read a', 'Bash npm test', '__proto__', 'constructor', ''), string({ unit: 'binary' }))
const row = record(
  {
    id: integer(),
    part: oneof(integer(), constantFrom(null)),
    label,
    costUsd: oneof(constantFrom(0, 0.1, 1e21, -1e-7, 2 ** 53, -(2 ** 53)), integer()),
    calls: array(record({ tool: label, status: label })),
    left: dictionary(label, oneof(integer(), constantFrom(null))),
    waitedMs: integer(),
  },
  { requiredKeys: ['id', 'part', 'label'] },
)

test('packed values round trip: rows with any figures, and any other values', () => {
  assert(
    property(array(row), (rows) => {
      expect(roundTrip(rows)).toEqual(throughJson(rows))
    }),
  )
  assert(
    property(array(anything()), (values) => {
      // Lists from JSON contain only JSON values.
      const plain = throughJson(values) as readonly unknown[]
      expect(roundTrip(plain)).toEqual(plain)
    }),
  )
})

test('similar rows are much shorter than their JSON', () => {
  const [run] = generatedSession({ turns: 500 }).view.runs
  const rows = run?.items ?? []
  expect(roundTrip(rows)).toEqual(throughJson(rows))
  expect(JSON.stringify(packed(rows)).length).toBeLessThan(JSON.stringify(rows).length / 4)
})

test('an outline reads no figures, and the lines have all of them, of one run or of all', () => {
  const { view } = generatedSession({ runs: 2, turns: 1_000 })
  const unwanted = (): never => {
    throw new Error('Nobody asked for it.')
  }
  const guarded = view.runs.map((run) =>
    Object.defineProperties(
      { ...run },
      Object.fromEntries([...figureKinds, 'windows'].map((name) => [name, { get: unwanted }])),
    ),
  )
  const { runs, ...head } = outlineOf({ ...view, runs: guarded })
  expect(head).toEqual({ row: view.row, shellArguments: view.shellArguments, notes: view.notes })
  expect(runs.map(({ account }) => account)).toEqual(view.runs.map(({ account }) => account))
  const lines = [...figureLines(view, 'items')]
  expect(lines.length).toBeGreaterThan(2)
  for (const [index, { items }] of view.runs.entries()) {
    const own = [...figureLines(view, 'items', index)]
    expect(own).toHaveLength(lines.filter(({ run }) => run === index).length)
    expect(
      isDeepStrictEqual(
        own.flatMap(({ rows }) => unpack(rows)),
        items,
      ),
    ).toBe(true)
  }
})
