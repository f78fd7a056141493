// Holds rules of docs/spec: R-WORK-2
import { expect, test } from 'vitest'
import { attempt } from '../../src/engine/attempt.ts'
import type { DecodedBatch } from '../../src/engine/batch.ts'
import { openOrRefuse, RefusedWork, SessionRefusedError } from '../../src/service/refused-work.ts'
import { FakeInvocation } from '../support/fake-engine.ts'

test('all requests to a session that cannot be opened are refused with the reason, on record', async () => {
  const batches: DecodedBatch[] = []
  const end = await attempt({
    engine: new FakeInvocation().attempt(),
    mail: [3, 4].map((number) =>
      JSON.stringify({ id: `r${number}`, number, request: { type: 'prompt', content: 'x' } }),
    ),
    begin: ({ log }) => new RefusedWork('No such folder.', { log, spent: null }),
    onBatch: (batch) => batches.push(batch),
  })
  expect(end).toEqual({ upTo: 4, snapshot: null, committedNanos: null, unknownNanos: null })
  expect(batches.flatMap(({ notes = [] }) => notes)).toEqual([
    { type: 'refused', id: 'r3', because: 'No such folder.' },
    { type: 'refused', id: 'r4', because: 'No such folder.' },
  ])
})

test('the engine retries after any other failure to open it', async () => {
  await expect(openOrRefuse(Promise.reject(new Error('no disk')))).rejects.toThrow('no disk')
  const error = new SessionRefusedError('never')
  expect(await openOrRefuse(Promise.reject(error))).toEqual({ kind: 'refused', error })
})
