// Holds rules of docs/spec: R-POIS-1, R-POIS-2: how the object of a session's attempts handles input from the ingress.
import type { ObjectContext } from '@restatedev/restate-sdk'
import { expect, test } from 'vitest'
import { attemptsDefinition, type AttemptsObject } from '../../src/attempts/attempts-object.ts'
import { MemoryState } from '../support/memory-state.ts'

/** The object of a session over in-memory state. Input is JSON. */
function attemptsOf() {
  const state = new MemoryState()
  const { object: all } = attemptsDefinition({}) as unknown as { readonly object: AttemptsObject }
  const call = async (name: keyof AttemptsObject, input?: unknown): Promise<unknown> => {
    const handler = all[name] as (context: ObjectContext, input: unknown) => Promise<unknown>
    // These handlers use nothing else.
    return handler(
      state as unknown as ObjectContext,
      input === undefined ? undefined : JSON.parse(JSON.stringify(input)),
    )
  }
  return { state, call }
}

const noted = (process: string) => ({ attempt: `of ${process}`, process, worker: 'http://w:9080', atMs: 1_000 })
const begin = (process: string) => ({
  turn: 1,
  attempt: noted(process),
  laps: 0,
  isAtRest: false,
  first: null,
  isAlone: true,
})

test.each([
  ['nothing', undefined],
  ['no attempt', { ...begin('p'), attempt: {} }],
  ['no date', { ...begin('p'), attempt: { ...noted('p'), atMs: undefined } }],
  ['an invalid date', { ...begin('p'), attempt: { ...noted('p'), atMs: 1e300 } }],
  ['a worker that is no address', { ...begin('p'), attempt: { ...noted('p'), worker: { toString: 1 } } }],
  ['a name that is large', { ...begin('p'), attempt: { ...noted('p'), process: 'x'.repeat(1e6) } }],
  ['an invalid first attempt', { ...begin('p'), first: { attempt: 1 } }],
  ['a turn that is no number of a request', { ...begin('p'), turn: 1e300 }],
  ['invalid laps', { ...begin('p'), laps: 'many' }],
  ['a word for a truth', { ...begin('p'), isAlone: 'yes' }],
])('an invalid attempt is answered with 400 and not stored: %s', async (_, input) => {
  const { state, call } = attemptsOf()
  await expect(call('begin', input)).rejects.toMatchObject({ code: 400 })
  expect([...state.values]).toEqual([])
})

test('a session is set aside, and unknown fields are not stored', async () => {
  const { state, call } = attemptsOf()
  for (const process of ['a', 'b', 'c'])
    await call('begin', { ...begin(process), attempt: { ...noted(process), more: 'x' } })
  expect(await call('begin', begin('d'))).toMatchObject({ type: 'set_aside' })
  expect(await call('setAside')).toMatchObject({ because: expect.stringContaining('http://w:9080') })
  expect(JSON.stringify([...state.values])).not.toContain('more')
})

test('a late call stores nothing for a removed session', async () => {
  const { state, call } = attemptsOf()
  await call('prove', { turn: 1, attempt: 'of p' })
  await call('accompany', { turn: 1, attempt: 'of p' })
  expect([...state.values]).toEqual([])
})
