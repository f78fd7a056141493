// Tests R-STEP-16, R-STEP-16c: the common part of stores with many sessions.
import { array, assert, asyncProperty, constantFrom } from 'fast-check'
import { expect, test } from 'vitest'
import { HaltingError, streamRun, startRun } from '../../src/index.ts'
import {
  validateSessionArguments,
  createMemorySteps,
  createOpenSession,
  decodeRecords,
  type RecordBatch,
} from '../../src/entries/steps.ts'
import type { StepRecord } from '../../src/entries/steps.ts'
import { scriptedModel } from '../../src/testing/index.ts'

/** A session whose store collects its records in a list, and takes as long as configured. */
function openTestSession(options: { readonly records?: readonly StepRecord[]; readonly fails?: () => Error } = {}) {
  const batches: RecordBatch[] = []
  const pending: (() => void)[] = []
  let released = 0
  const session = createOpenSession({
    sessionId: 's',
    head: { title: 'A title' },
    fence: 7,
    records: options.records ?? [],
    write: async (batch) => {
      batches.push(batch)
      await new Promise<void>((resolve) => pending.push(resolve))
      const error = options.fails?.()
      if (error !== undefined) throw error
    },
    release: async () => void released++,
  })
  const go = async (): Promise<void> => {
    for (let turn = 0; turn < 20; turn++) {
      pending.shift()?.()
      await new Promise<void>((resolve) => setImmediate(resolve))
    }
  }
  return { session, batches, go, released: () => released }
}

const stage = (entries: number): StepRecord => ({ type: 'rewind', entries, after: null })

async function recordsOfRun(): Promise<readonly StepRecord[]> {
  const steps = createMemorySteps()
  await streamRun(startRun({ prompt: 'go', sessionId: 's' }), { model: scriptedModel(['done']), steps }).result
  return steps.records
}

test('passes on records in one batch, and those that arrive meanwhile in the next', async () => {
  const { session, batches, go } = openTestSession()
  session.log.append(stage(1))
  session.log.append(stage(2))
  const first = session.log.flush()
  await new Promise<void>((resolve) => setImmediate(resolve))
  session.log.append(stage(3))
  const second = session.log.flush()
  const third = session.log.flush()
  session.log.append(stage(4))
  await go()
  await Promise.all([first, second, third])
  expect(batches.map(({ first: number, records, isDurable }) => [number, records.length, isDurable])).toEqual([
    [0, 2, true],
    [2, 2, true],
  ])
})

test('writes what is never flushed, and a later flush makes it durable', async () => {
  const { session, batches, go } = openTestSession()
  session.log.append(stage(1))
  await go()
  expect(batches).toEqual([{ first: 0, records: [JSON.stringify(stage(1))], isDurable: false }])
  const flushed = session.log.flush()
  await go()
  await flushed
  expect(batches.slice(1)).toEqual([{ first: 1, records: [], isDurable: true }])
  expect(session.log.flush()).toBeUndefined()
})

test('stores every record once and in order, and settles each flush after its records, in any order of operations', async () => {
  await assert(
    asyncProperty(array(constantFrom('append', 'flush', 'turn'), { maxLength: 40 }), async (steps) => {
      const { session, batches, go } = openTestSession()
      let appended = 0
      const flushes: Promise<void>[] = []
      const early: boolean[] = []
      for (const step of steps) {
        if (step === 'append') session.log.append(stage(appended++))
        else if (step === 'turn') await new Promise<void>((resolve) => setImmediate(resolve))
        else {
          const upTo = appended
          const stored = (): number => batches.reduce((sum, { records }) => sum + records.length, 0)
          flushes.push(Promise.resolve(session.log.flush()).then(() => void early.push(stored() < upTo)))
        }
      }
      const closed = session.close()
      for (let left = 0; left < 4; left++) await go()
      await Promise.all([...flushes, closed])
      expect(early).toEqual(flushes.map(() => false))
      expect(batches.flatMap(({ records }) => records)).toEqual(
        Array.from({ length: appended }, (_, entries) => JSON.stringify(stage(entries))),
      )
      let next = 0
      for (const { first, records } of batches) {
        expect(first).toBe(next)
        next += records.length
      }
    }),
    { numRuns: 50 },
  )
})

test('rejects its flush and all later ones, rejects records, and releases the lock after a failed write', async () => {
  const { session, batches, go, released } = openTestSession({ fails: () => new Error('the disk is full') })
  session.log.append(stage(1))
  const flushed = Promise.resolve(session.log.flush()).catch((error: unknown) => error)
  await go()
  const error = (await flushed) as HaltingError
  expect(error).toBeInstanceOf(HaltingError)
  expect([error.code, error.message]).toEqual([
    'driver',
    'The session s cannot be written: the disk is full. Its stored records are intact.',
  ])
  await expect(Promise.resolve(session.log.flush())).rejects.toBe(error)
  expect(() => session.log.append(stage(2))).toThrow(error)
  await expect(session.close()).rejects.toBe(error)
  expect([batches.length, released()]).toEqual([1, 1])
})

test('reports the state of the newest run after each batch', async () => {
  const { session, batches, go } = openTestSession()
  const records = await recordsOfRun()
  for (const record of records.slice(0, -1)) session.log.append(record)
  await go()
  for (const record of records.slice(-1)) session.log.append(record)
  const closed = session.close()
  await go()
  await closed
  expect(batches.map(({ lastReason }) => lastReason)).toEqual([null, 'completed'])
  expect(() => session.log.append(stage(1))).toThrow('The session s is closed.')
})

test('folds the stored records', async () => {
  const records = decodeRecords(
    's',
    (await recordsOfRun()).map((record) => JSON.stringify(record)),
  )
  const ended = openTestSession({ records }).session
  expect([ended.ended.map(({ terminal }) => terminal.reason), ended.open, ended.fence, ended.head]).toEqual([
    ['completed'],
    undefined,
    7,
    { title: 'A title' },
  ])
  const open = openTestSession({ records: records.slice(0, -1) }).session
  expect(open.open).toEqual(records.slice(0, -1))
})

test('names a damaged record by session and number', () => {
  const whole = JSON.stringify(stage(1))
  expect(() => decodeRecords('s', [whole, '{'])).toThrow(/^Record 1 of the session s is damaged: /)
  expect(() => decodeRecords('s', [whole, whole, '{"type":"rewind"}'])).toThrow(
    /^Record 2 of the session s is damaged: entries /,
  )
})

test.each([
  '2026-19-39T29:59:59Z',
  '2026-02-30T00:00:00Z',
  '2026-01-31T24:00:00Z',
  '0000-01-01T00:00:00Z',
  '2026-01-31',
])('rejects the time %s, which databases store differently', (createdAt) => {
  expect(() => validateSessionArguments('s', { createdAt })).toThrow('createdAt must be a time in ISO 8601')
})

test.each(['2024-02-29T23:59:59Z', '2026-01-31T12:00:00.000Z', '2026-01-31T12:00:00.123456Z'])(
  'accepts the time %s',
  (createdAt) => expect(() => validateSessionArguments('s', { createdAt })).not.toThrow(),
)
