// Tests R-REW-1, R-REW-4: the record of a rewind.
import { expect, test } from 'vitest'
import { rewindRecord } from '../src/entries/steps.ts'
import { run } from './support/harness.ts'

test('a rewound conversation names its last remaining message, and none at the beginning', async () => {
  const { state } = await run(['hello'])
  const { transcript } = state
  const ids = transcript.since(0).map(({ id }) => id)
  const records = [0, 1, 2].map((entries) => rewindRecord({ transcript, open: undefined }, entries))
  expect(ids).toHaveLength(2)
  expect(records).toEqual([
    { type: 'rewind', entries: 0, after: null },
    { type: 'rewind', entries: 1, after: ids[0] },
    { type: 'rewind', entries: 2, after: ids[1] },
  ])
})
