// Holds rules of docs/spec: R-FUND-6, R-FUND-6b: when the log of a session lets it rest, and what confirms that this process is at work.
import { expect, test } from 'vitest'
import { ClusterLog } from '../src/engine/cluster-log.ts'

interface Batch {
  readonly records: readonly unknown[]
  readonly restMs?: number | null
}

const taken = async (log: ClusterLog): Promise<Batch> => JSON.parse(await log.take()) as Batch

async function begun(): Promise<ClusterLog> {
  const log = new ClusterLog()
  await taken(log)
  log.onBatchStored()
  return log
}

test('a session rests only when no caller prevents it', async () => {
  const log = await begun()
  const [first, second] = [log.hold(), log.hold()]
  log.rests(null)
  let batch: Batch | undefined
  const takenBatch = taken(log).then((text) => (batch = text))
  const pass = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
  await pass(260)
  first()
  first()
  await pass(20)
  expect(batch).toBeUndefined()
  second()
  expect(await takenBatch).toMatchObject({ records: [], restMs: null })
})

test('a batch that is received later confirms the attempt, and is requested if there is nothing else', async () => {
  const log = await begun()
  const openedAt = log.batches
  let isConfirmed = false
  const confirmed = log.confirmed(openedAt).then(() => (isConfirmed = true))
  expect((await taken(log)).records).toEqual([])
  await Promise.resolve()
  expect(isConfirmed, 'it is not on record yet').toBe(false)
  log.onBatchStored()
  await confirmed
  await log.confirmed(openedAt)
  const never = log.confirmed(log.batches)
  log.break()
  await expect(never).rejects.toMatchObject({ code: 'driver' })
})

test('a process that was released does not end the work, whatever it closes', async () => {
  const log = new ClusterLog()
  log.break()
  log.finish({ upTo: 1 })
  await expect(log.take()).rejects.toMatchObject({ code: 'driver' })
  const another = new ClusterLog()
  another.finish({ upTo: 1 })
  expect(JSON.parse(await another.take())).toHaveProperty('done')
})
