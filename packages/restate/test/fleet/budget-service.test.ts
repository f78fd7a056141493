// Holds rules of docs/spec: R-FLEET-1, R-FLEET-2, R-FLEET-7: how handlers of a budget and a gate handle input from the ingress.
import type { ObjectContext } from '@restatedev/restate-sdk'
import { expect, test } from 'vitest'
import { budgetDefinition, type BudgetHandlers } from '../../src/fleet/budget-service.ts'
import { MemoryState } from '../support/memory-state.ts'

/** The object of a tenant over in-memory state. Input and answers are JSON. */
function tenantOf() {
  const state = new MemoryState()
  // Handlers of a budget use nothing else.
  const context = state as unknown as ObjectContext
  const { object: all } = budgetDefinition() as unknown as { readonly object: BudgetHandlers }
  const call = async (name: keyof BudgetHandlers, input?: unknown): Promise<unknown> => {
    const handler = all[name] as (context: ObjectContext, input: unknown) => Promise<unknown>
    const sent: unknown = input === undefined ? undefined : JSON.parse(JSON.stringify(input))
    return handler(context, sent)
  }
  return { state, call }
}

const of = (session: string, began = 'inv') => ({ session, began })
const wrong = [Number.NaN, -1, -0.5, 0.5, 1e300, Infinity, '1', {}, [], true, null]

test('an invalid amount is answered with 400 and changes nothing', async () => {
  const { state, call } = tenantOf()
  await call('setLimit', 2)
  const before = [...state.values]
  for (const amount of wrong) {
    await expect(call('raiseTo', { ...of('s'), turn: 1, nanos: amount })).rejects.toMatchObject({ code: 400 })
    await expect(call('raiseTo', { ...of('s'), turn: amount, nanos: 1 })).rejects.toMatchObject({ code: 400 })
    await expect(call('release', { ...of('s'), turn: amount, nanos: 1 })).rejects.toMatchObject({ code: 400 })
  }
  for (const usd of [-1, 1e300, 9_007_200, '5', {}, true, undefined])
    await expect(call('setLimit', usd)).rejects.toMatchObject({ code: 400 })
  for (const input of [
    null,
    1,
    'x',
    [],
    { nanos: 1, turn: 1 },
    { ...of(''), turn: 1, nanos: 1 },
    { ...of('s', 'a/b'), turn: 1, nanos: 1 },
  ])
    await expect(call('raiseTo', input)).rejects.toMatchObject({ code: 400 })
  // The last turn is reserved for removed sessions.
  await expect(call('raiseTo', { ...of('s'), turn: Number.MAX_SAFE_INTEGER, nanos: 1 })).rejects.toMatchObject({
    code: 400,
  })
  expect([...state.values]).toEqual(before)
})

test('without a limit, leases stay within what can be counted exactly', async () => {
  const { call } = tenantOf()
  const most = Number.MAX_SAFE_INTEGER
  expect(await call('raiseTo', { ...of('a'), turn: 1, nanos: most - 5 })).toBe(most - 5)
  expect(await call('raiseTo', { ...of('b'), turn: 1, nanos: most })).toBe(5)
  await expect(call('release', { ...of('b'), turn: 1, nanos: most, unknownNanos: 0 })).rejects.toMatchObject({
    code: 400,
  })
  expect(await call('status')).toMatchObject({ limitUsd: null, leftUsd: null, holders: 2 })
})

test('names that JavaScript treats specially are ordinary names', async () => {
  const { call } = tenantOf()
  await call('setLimit', 1)
  for (const session of ['__proto__', 'constructor', 'a/b', 'toString'])
    expect(await call('raiseTo', { ...of(session), turn: 1, nanos: 1e8 })).toBe(1e8)
  expect(await call('holders')).toEqual(
    ['__proto__', 'a/b', 'constructor', 'toString'].map((session) => ({ session, leasedUsd: 0.1, settledUsd: 0 })),
  )
  for (const session of ['__proto__', 'constructor', 'a/b', 'toString'])
    await call('release', { ...of(session), turn: 1, nanos: 5e7, unknownNanos: 1e7 })
  expect(await call('holders')).toEqual([])
  expect(await call('status')).toEqual({
    limitUsd: 1,
    settledUsd: 0.2,
    unknownUsd: 0.04,
    reservedUsd: 0,
    leasedUsd: 0.2,
    leftUsd: 0.8,
    holders: 0,
    waiting: 0,
  })
})

test('a limit below the settled amount leaves no budget, reverts no charge, and can be removed', async () => {
  const { call } = tenantOf()
  await call('raiseTo', { ...of('a'), turn: 1, nanos: 3e9 })
  await call('release', { ...of('a'), turn: 1, nanos: 2e9, unknownNanos: 0 })
  await call('setLimit', 1)
  expect(await call('raiseTo', { ...of('a'), turn: 2, nanos: 4e9 })).toBe(2e9)
  expect(await call('raiseTo', { ...of('b'), turn: 1, nanos: 1 })).toBe(0)
  expect(await call('status')).toMatchObject({ limitUsd: 1, settledUsd: 2, reservedUsd: 0, leftUsd: 0, holders: 2 })
  await call('setLimit', 2.5)
  expect(await call('raiseTo', { ...of('b'), turn: 1, nanos: 9e9 })).toBe(5e8)
})

test('a thousand sessions with tiny requests receive the available budget, and return it', async () => {
  const { state, call } = tenantOf()
  await call('setLimit', 0.6)
  const names = Array.from({ length: 1_000 }, (_, index) => `s${String(index).padStart(4, '0')}`)
  let granted = 0
  for (const name of names) granted += Number(await call('raiseTo', { ...of(name), turn: 1, nanos: 1_000_000 }))
  expect(granted).toBe(600_000_000)
  expect(await call('holders')).toHaveLength(1_000)
  const written = state.writtenBytes
  await call('raiseTo', { ...of('s0000'), turn: 1, nanos: 2_000_000 })
  // The size of a write does not grow with them.
  expect(state.writtenBytes - written).toBeLessThan(500)
  for (const name of names) await call('release', { ...of(name), turn: 1, nanos: 0, unknownNanos: 0 })
  expect(await call('status')).toMatchObject({ settledUsd: 0, reservedUsd: 0, leftUsd: 0.6, holders: 0 })
})

test('a removed session returns its lease, and a later session of the same name starts anew', async () => {
  const { call } = tenantOf()
  await call('setLimit', 1)
  await call('raiseTo', { ...of('s', 'first'), turn: 7, nanos: 9e8 })
  expect(await call('isHeld', of('s', 'first'))).toBe(true)
  await call('close', { ...of('s', 'first'), spent: { nanos: 4e8, unknownNanos: 1e8 } })
  // Late calls of its worker.
  await call('raiseTo', { ...of('s', 'first'), turn: 8, nanos: 9e8 })
  await call('release', { ...of('s', 'first'), turn: 7, nanos: 0, unknownNanos: 0 })
  expect(await call('status')).toMatchObject({ settledUsd: 0.4, unknownUsd: 0.1, reservedUsd: 0, holders: 0 })
  expect(await call('raiseTo', { ...of('s', 'second'), turn: 1, nanos: 2e8 })).toBe(2e8)
  // A resting session has reported its spending.
  await call('release', { ...of('s', 'second'), turn: 1, nanos: 1e8, unknownNanos: 0 })
  await call('close', { ...of('s', 'second'), spent: null })
  expect(await call('status')).toMatchObject({ settledUsd: 0.5, reservedUsd: 0, leftUsd: 0.5, holders: 0 })
})

test('one call raises several leases in order, even of one session', async () => {
  const { call } = tenantOf()
  await call('setLimit', 1)
  const asked = [
    { ...of('a'), turn: 1, nanos: 6e8 },
    { ...of('b'), turn: 1, nanos: 3e8 },
    { ...of('a'), turn: 1, nanos: 5e8 },
    { ...of('c'), turn: 1, nanos: 9e8 },
  ]
  expect(await call('raiseAll', asked)).toEqual([6e8, 3e8, 6e8, 1e8])
  expect(await call('status')).toMatchObject({ leasedUsd: 1, leftUsd: 0, holders: 3 })
  await expect(call('raiseAll', asked[0])).rejects.toMatchObject({ code: 400 })
  await expect(call('raiseAll', [...asked, { ...of('d'), turn: 1, nanos: -1 }])).rejects.toMatchObject({ code: 400 })
  expect(await call('status')).toMatchObject({ leasedUsd: 1, holders: 3 })
})
