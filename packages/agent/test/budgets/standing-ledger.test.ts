// Holds rules of docs/spec: R-STAND-10 to R-STAND-19: budgets that processes share by a ledger file.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import type { StandingWait } from '@halting/core'
import { setTimeout as wait } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { ownProcess, shortIdentity } from '@halting/journal/files'
import { LedgerFile } from '../../src/budgets/ledger-file.ts'
import type { LedgerState, Reservation } from '../../src/budgets/ledger-state.ts'
import { reserve } from '../../src/budgets/ledger-state.ts'
import { opened, request, take, taken, tempFolder } from './support.ts'

const noon = new Date(2026, 10, 29, 12)
const day = { per: 'day', usd: 10 } as const

describe('a request', () => {
  test('reserves its worst case at once, and returns what it did not need', async () => {
    const { standing, file } = await opened(tempFolder(), [day], { now: () => noon })
    const first = taken(take(standing, request(6)))
    expect(first.usd).toBe(6)
    first.settle(1, true)
    expect(taken(take(standing, request(9))).usd).toBe(9)
    const [periods] = Object.values(file.read().scopes)
    expect(periods).toEqual({
      '2026-11-29': { limitNanos: null, leasedNanos: 10e9, spentNanos: 1e9, unknownNanos: 0, holders: 1 },
    })
  })

  test('gets what is available once all reservations return, and at least a useful amount', async () => {
    const { standing } = await opened(tempFolder(), [day], { now: () => noon })
    taken(take(standing, request(7))).settle(7, true)
    expect(taken(take(standing, request(5, 2))).usd).toBe(3)
    expect(take(standing, request(5, 3.5))).toMatchObject({
      kind: 'refused',
      budget: { name: '$10 a day', limitUsd: 10, settledUsd: 7, unknownUsd: 0, reservedUsd: 3 },
    })
  })

  test('reserves from all budgets that count it, or from none', async () => {
    const folder = tempFolder()
    const { standing, file } = await opened(
      folder,
      [day, { per: 'month', usd: 100 }, { per: 'day', usd: 2, model: 'claude-opus-*' }],
      { now: () => noon },
    )
    expect(take(standing, request(3))).toMatchObject({
      kind: 'refused',
      budget: { name: '$2 a day for claude-opus-*' },
    })
    expect(file.read().scopes).toEqual({})
    expect(taken(take(standing, request(3, 3, 'claude-haiku-4'))).usd).toBe(3)
    expect(Object.keys(file.read().scopes).toSorted()).toEqual(['day', 'month'])
    expect(standing.names).toEqual(['$10 a day', '$100 a month', '$2 a day for claude-opus-*'])
  })

  test('counts once if two budgets differ only in their limit', async () => {
    const { standing, file } = await opened(tempFolder(), [day, { per: 'day', usd: 4 }], { now: () => noon })
    taken(take(standing, request(3))).settle(3, true)
    expect(Object.values(file.read().scopes)[0]).toMatchObject({ '2026-11-29': { spentNanos: 3e9 } })
    expect(take(standing, request(2))).toMatchObject({ kind: 'refused', budget: { name: '$4 a day' } })
  })

  test('is charged at its worst case if its cost was not reported', async () => {
    const { standing, file } = await opened(tempFolder(), [day], { now: () => noon })
    taken(take(standing, request(6))).settle(6, false)
    expect(file.read().correctable).toMatchObject([{ why: 'not reported', nanos: 6e9 }])
    expect(take(standing, request(5))).toMatchObject({ kind: 'refused', budget: { unknownUsd: 6 } })
  })

  test('is settled once', async () => {
    const { standing, file } = await opened(tempFolder(), [day], { now: () => noon })
    const first = taken(take(standing, request(6)))
    first.settle(1, true)
    first.settle(5, true)
    expect(Object.values(file.read().scopes)[0]).toMatchObject({ '2026-11-29': { spentNanos: 1e9 } })
  })

  test('to a model that no budget counts creates no file', async () => {
    const folder = tempFolder()
    const { standing } = await opened(folder, [{ ...day, model: 'gpt-*' }])
    const before = readFileSync(join(folder, 'budgets', 'ledger.json'), 'utf8')
    taken(take(standing, request(1_000))).settle(1_000, true)
    expect(readFileSync(join(folder, 'budgets', 'ledger.json'), 'utf8')).toBe(before)
    expect(standing.countsFor('claude-opus-4')).toBe(false)
    expect(standing.countsFor('gpt-5')).toBe(true)
  })
})

describe('waiting', () => {
  test('lasts until enough is returned, in order of arrival', async () => {
    const folder = tempFolder()
    const one = await opened(folder, [day], { now: () => noon })
    const other = await opened(folder, [day], { now: () => noon })
    const first = taken(take(one.standing, request(9)))
    const waits: StandingWait[] = []
    const order: string[] = []
    const large = Promise.resolve(take(other.standing, request(8), { waits })).then((answer) => {
      order.push('large')
      return taken(answer)
    })
    while (waits.length === 0) await wait(1)
    expect(waits).toEqual([{ budget: '$10 a day', reservedUsd: 9, holders: 1 }])
    // It would fit, but arrived later.
    const small = Promise.resolve(take(one.standing, request(1))).then((answer) => {
      order.push('small')
      return taken(answer)
    })
    while (one.file.read().waiters.length < 2) await wait(1)
    first.settle(1, true)
    const served = await large
    served.settle(8, true)
    ;(await small).settle(1, true)
    expect(order).toEqual(['large', 'small'])
    expect(one.file.read()).toMatchObject({ waiters: [], reservations: [] })
  })

  test('ends with what fits when others have spent the rest', async () => {
    const folder = tempFolder()
    const { standing } = await opened(folder, [day], { now: () => noon })
    const first = taken(take(standing, request(9)))
    const later = take(standing, request(8, 2))
    first.settle(7, true)
    expect(taken(await later).usd).toBe(3)
    const last = take(standing, request(4, 4))
    expect(last).toMatchObject({ kind: 'refused' })
  })

  test('ends on abort, with nothing reserved and nobody blocked', async () => {
    const { standing, file } = await opened(tempFolder(), [day], { now: () => noon })
    const first = taken(take(standing, request(9)))
    const abort = new AbortController()
    const waits: StandingWait[] = []
    const waiting = Promise.resolve(take(standing, request(8), { signal: abort.signal, waits }))
    while (waits.length === 0) await wait(1)
    abort.abort(new Error('enough'))
    await expect(waiting).rejects.toThrow('enough')
    expect(file.read()).toMatchObject({ waiters: [], reservations: [{ nanos: 9e9 }] })
    expect(taken(take(standing, request(1))).usd).toBe(1)
    first.settle(9, true)
    await expect(take(standing, request(1), { signal: AbortSignal.abort(new Error('before')) })).rejects.toThrow(
      'before',
    )
  })

  test('does not apply to requests that must not wait', async () => {
    const { standing, file } = await opened(tempFolder(), [day], { now: () => noon })
    taken(take(standing, request(9)))
    expect(take(standing, { ...request(2), mayWait: false })).toMatchObject({
      kind: 'refused',
      budget: { reservedUsd: 9 },
    })
    expect(file.read().waiters).toEqual([])
  })

  test('does not block on a process that has ended', async () => {
    const { standing, file } = await opened(tempFolder(), [day], { now: () => noon })
    const waiter = { id: 'w', process: gone, scopes: ['day'], since: 0 }
    file.attempt((state) => ({ state: { ...state, waiters: [waiter] }, result: undefined }))
    expect(taken(take(standing, request(1))).usd).toBe(1)
    expect(file.read().waiters).toEqual([])
  })

  // Other systems do not report which processes are stopped.
  test.runIf(existsSync('/proc/self/stat'))(
    'does not block on a stopped process, which keeps its position in the queue',
    async () => {
      const { standing, file } = await opened(tempFolder(), [day], { now: () => noon })
      const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' })
      onTestFinished(() => void child.kill('SIGKILL'))
      await once(child, 'spawn')
      const { pid = 0 } = child
      const state = (): string => /\) (\S)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1] ?? ''
      const waiter = { id: 'w', process: { pid, began: '', host: hostname() }, scopes: ['day'], since: 0 }
      file.attempt((before) => ({ state: { ...before, waiters: [waiter] }, result: undefined }))
      const waits: StandingWait[] = []
      const asked = Promise.resolve(take(standing, request(1), { waits }))
      while (waits.length === 0) await wait(1)
      child.kill('SIGSTOP')
      while (state() !== 'T') await wait(1)
      expect(taken(await asked).usd).toBe(1)
      expect(file.read().waiters).toEqual([waiter])
    },
  )
})

/** No process has this number. */
const gone = { pid: 2 ** 22 + 1, began: '', host: hostname() }

function left(nanos: number, process: Reservation['process'] = gone): Reservation {
  const places = [{ scope: 'day', period: '2026-11-29' }]
  return { id: 'left-1', process, session: 'x', model: 'm', repository: '', nanos, places, since: 0 }
}

describe('the reservation of a dead process', () => {
  const put = (file: LedgerFile, reservation: Reservation): unknown =>
    file.attempt((state) => ({ state: reserve(state, reservation), result: undefined }))

  test('is settled at its worst case if it is missing, and can be corrected', async () => {
    const { standing, file } = await opened(tempFolder(), [day], { now: () => noon })
    put(file, left(8e9))
    expect(taken(take(standing, request(1))).usd).toBe(1)
    expect(file.read().correctable).toEqual([])
    expect(take(standing, request(5))).toMatchObject({
      kind: 'refused',
      budget: { settledUsd: 8, unknownUsd: 8, reservedUsd: 1 },
    })
    expect(file.read().correctable).toMatchObject([{ id: 'left-1', why: 'process ended', nanos: 8e9 }])
  })

  test('is settled by a process that starts', async () => {
    const folder = tempFolder()
    const { file } = await opened(folder, [day])
    put(file, left(8e9))
    await opened(folder, [day])
    expect(file.read()).toMatchObject({ reservations: [], correctable: [{ id: 'left-1' }] })
  })

  test('counts as its actual cost if the process is alive after all', async () => {
    const folder = tempFolder()
    const { standing, file } = await opened(folder, [day], { now: () => noon })
    const alive = taken(take(standing, request(8)))
    // As seen by a process in another container.
    file.attempt((state) => ({ state: withProcess(state, gone), result: undefined }))
    await opened(folder, [day], { now: () => noon })
    expect(file.read().correctable).toHaveLength(1)
    alive.settle(2, true)
    expect(file.read()).toMatchObject({
      correctable: [],
      scopes: { day: { '2026-11-29': { leasedNanos: 2e9, spentNanos: 2e9, unknownNanos: 0, holders: 0 } } },
    })
  })

  test('of an earlier boot of the machine is settled, under any host name', async () => {
    const folder = tempFolder()
    const { file } = await opened(folder, [day])
    const before = { pid: process.pid, began: '00000000-0000-0000-0000-000000000000 1', host: 'another' }
    put(file, left(8e9, before))
    await opened(folder, [day])
    expect(file.read().reservations).toHaveLength(existsSync('/proc/sys/kernel/random/boot_id') ? 0 : 1)
  })
})

function withProcess(state: LedgerState, process: Reservation['process']): LedgerState {
  return { ...state, reservations: state.reservations.map((each) => ({ ...each, process })) }
}

describe('the lock', () => {
  const lockOf = (folder: string): string => join(folder, 'budgets', 'ledger.lock')

  test('of a dead process is taken over', async () => {
    const folder = tempFolder()
    const { standing } = await opened(folder, [day])
    symlinkSync(`${shortIdentity(gone)} t`, lockOf(folder))
    expect(taken(take(standing, request(1))).usd).toBe(1)
    symlinkSync('what no version writes', lockOf(folder))
    expect(taken(take(standing, request(1))).usd).toBe(1)
  })

  test('of a living process is awaited, and an abort ends the wait', async () => {
    const folder = tempFolder()
    const { standing, file } = await opened(folder, [day])
    const lock = `${shortIdentity(ownProcess())} t`
    symlinkSync(lock, lockOf(folder))
    const abort = new AbortController()
    const asked = take(standing, request(1), { signal: abort.signal })
    expect(asked).toBeInstanceOf(Promise)
    await wait(20)
    abort.abort(new Error('enough'))
    // Its place in the queue is given up once the lock is free.
    const { unlinkSync } = await import('node:fs')
    unlinkSync(lockOf(folder))
    await expect(asked).rejects.toThrow('enough')
    expect(file.read().reservations).toEqual([])
  })

  test('held during a settlement is awaited without blocking', async () => {
    const folder = tempFolder()
    const { standing, file } = await opened(folder, [day], { now: () => noon })
    const first = taken(take(standing, request(8)))
    const lock = `${shortIdentity(ownProcess())} t`
    symlinkSync(lock, lockOf(folder))
    first.settle(1, true)
    expect(file.read().reservations).toHaveLength(1)
    const { unlinkSync } = await import('node:fs')
    unlinkSync(lockOf(folder))
    while (file.read().reservations.length > 0) await wait(1)
    expect(file.read().scopes).toMatchObject({ day: { '2026-11-29': { spentNanos: 1e9 } } })
  })
})

test('only the user can read the files', async () => {
  const folder = tempFolder()
  await opened(folder, [day])
  expect(statSync(join(folder, 'budgets')).mode & 0o777).toBe(0o700)
  expect(statSync(join(folder, 'budgets', 'ledger.json')).mode & 0o777).toBe(0o600)
})

test('a file that a killed process was writing is not read as a ledger', async () => {
  const folder = tempFolder()
  const { standing } = await opened(folder, [day])
  writeFileSync(join(folder, 'budgets', 'ledger.json.part'), '{"ver')
  expect(taken(take(standing, request(1))).usd).toBe(1)
})
