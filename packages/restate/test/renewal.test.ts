// Holds rules of docs/spec: R-GROW-2: an invocation ends, however far the loop runs ahead of what is on record.
import type { StepRecord } from '@halting/core/steps'
import { expect, test } from 'vitest'
import { ClusterLog, isCut } from '../src/engine/cluster-log.ts'
import { MemoryPayloads } from './support/memory-state.ts'

const result = (value: unknown): StepRecord => ({
  type: 'result',
  key: 'run1/tool:1',
  digest: null,
  value,
  at: 1,
  durationMs: 1,
})
// The log reads only the scope of an iteration.
const lap = { type: 'lap', lap: { scope: '' } } as unknown as StepRecord
const fillsUp = 'goes on with this session elsewhere'

/** Everything that is taken until the invocation is over. */
async function allOf(log: ClusterLog): Promise<{ readonly records: number; readonly isOver: boolean }> {
  for (let records = 0; ;) {
    // `ClusterLog.take` wrote it.
    const batch = JSON.parse(await log.take()) as { readonly records: readonly unknown[]; readonly done?: null }
    records += batch.records.length
    log.onBatchStored()
    if (batch.done !== undefined) return { records, isOver: isCut(batch.done) }
  }
}

test('an invocation ends at the iteration that fills it, even if nothing is on record yet', async () => {
  const log = new ClusterLog(undefined, undefined, { records: 3, bytes: Infinity })
  for (const each of [result(1), lap, result(2), lap]) log.append(each)
  expect(() => log.append(result(3))).toThrow(fillsUp)
  expect(await allOf(log)).toEqual({ records: 4, isOver: true })
})

test('an invocation also ends by bytes, where a text in the payload store counts as its reference', async () => {
  const room = { records: Infinity, bytes: 20_000 }
  const log = new ClusterLog(undefined, undefined, room)
  for (const each of [result('x'.repeat(15_000)), lap, result('y'.repeat(6_000)), lap]) log.append(each)
  expect(() => log.append(result(3))).toThrow(fillsUp)
  expect(await allOf(log)).toEqual({ records: 4, isOver: true })
  const stored = new ClusterLog(new MemoryPayloads(5_000), undefined, room)
  for (let turn = 0; turn < 10; turn++) {
    stored.append(result(`${turn}`.repeat(100_000)))
    stored.append(lap)
  }
  expect(stored.isBroken).toBe(false)
})

test('compressed texts count with their stored size', async () => {
  const log = new ClusterLog(undefined, undefined, { records: Infinity, bytes: 20_000 })
  for (let turn = 0; turn < 4; turn++) {
    log.append(result(`${turn} `.repeat(7_000)))
    log.append(lap)
    await log.take()
    log.onBatchStored()
  }
  expect(log.isBroken).toBe(false)
})
