// The content of a file can expand when it is displayed: rows, parts and records must remain small enough for a browser.
import type { StepRecord } from '@halting/core/steps'
import { beforeAll, expect, test } from 'vitest'
import { jsonText } from '../../src/words/json-text.ts'
import { rowOf } from '../../src/view/row.ts'
import { transcriptParts } from '../../src/view/parts.ts'
import { viewOf } from '../../src/view/view.ts'
import { says, scriptedSession, scriptedWorld, sessionOf } from '../support/sessions.ts'

let recorded: readonly StepRecord[] = []
beforeAll(async () => {
  const world = scriptedWorld()
  recorded = (await scriptedSession(world, [[says(world, 'done')]])).runs[0] ?? []
})

test('a row is short, whatever its session contains', () => {
  const long = 'x'.repeat(1_000_000)
  const models = Array.from({ length: 500 }, (_, index) => `${index}${long}`)
  const asked = models.map((model): StepRecord => ({
    type: 'result',
    key: 'run1/model:1.1',
    digest: null,
    value: { kind: 'answered', charge: { model, tokens: 1, nanos: 1 } },
    at: 0,
    durationMs: 1,
  }))
  const row = rowOf(
    sessionOf([[...recorded, ...asked]], { sessionId: long, cwd: long, title: long, unpriced: [models] }),
  )
  expect(JSON.stringify(row).length).toBeLessThan(60_000)
})

test('a text that is repeated very often in a conversation is shown a limited number of times', () => {
  const content = 'x'.repeat(1_000_000)
  const boundary = {
    kind: 'compact_boundary',
    id: 'run1/b',
    messages: Array.from({ length: 20 }, () => ({ role: 'user', content }) as const),
    trigger: 'auto',
    preTokens: 2,
    postTokens: 1,
  } as const
  const records = recorded.map((record) => (record.type === 'end' ? { ...record, added: [boundary] } : record))
  const session = sessionOf([records])
  expect(viewOf(session).runs).toHaveLength(1)
  const [, note] = transcriptParts(session, 0)
  const text = note?.kind === 'note' ? (note.more ?? '') : ''
  expect(text.split('\n\n').map((each) => each.length)).toEqual([...Array<number>(8).fill(1_000_000), 22])
  expect(text.endsWith('… and 12 more messages')).toBe(true)
})

test('deeply nested content is not indented, as it would be mostly whitespace', () => {
  const nested: unknown = JSON.parse('['.repeat(200) + ']'.repeat(200))
  expect(jsonText({ a: [1] })).toBe('{\n  "a": [\n    1\n  ]\n}')
  expect(jsonText(nested)).toHaveLength(400)
  expect(jsonText(undefined)).toBe('')
})
