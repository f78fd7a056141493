// Holds rules of docs/spec: R-FLEET-1, R-FLEET-2, R-FLEET-2a: sessions of one tenant on workers that are killed between requesting, spending and
// reporting money, over an ingress that loses answers. Bills never exceed the limit, and none is lost.
import type { ObjectContext } from '@restatedev/restate-sdk'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Spent } from '@halting/core/adapters'
import { budgetDefinition, type BudgetHandlers, type BudgetStatus } from '../../src/fleet/budget-service.ts'
import { LeaseDesk } from '../../src/fleet/lease-desk.ts'
import { TenantLease } from '../../src/fleet/tenant-lease.ts'
import { MemoryState } from '../support/memory-state.ts'

type Handler = (context: ObjectContext, input: unknown) => Promise<unknown>

/** The budget of a tenant behind an ingress: one call at a time, as in the engine. Some answers are lost, and their calls are repeated. */
function fleetOf(losesAnswer: () => boolean) {
  const context = new MemoryState() as unknown as ObjectContext
  // Handlers of a budget use nothing else.
  const { object } = budgetDefinition() as unknown as { readonly object: Readonly<Record<string, Handler>> }
  const call = async (name: keyof BudgetHandlers, input?: unknown): Promise<unknown> => object[name]?.(context, input)
  const fake: typeof fetch = async (input, init) => {
    const answer = await call((input as URL).pathname.split('/').at(-1) as 'ask', JSON.parse(init?.body as string))
    if (losesAnswer()) throw new TypeError('fetch failed')
    return Response.json(answer)
  }
  return { call, ingress: { url: 'http://engine', fetch: fake } }
}

const never = new AbortController().signal
const log = { flush: () => undefined, batches: 0, confirmed: () => Promise.resolve(), hold: () => () => {} }
const chunkNanos = 3
const step = fc.record({
  session: fc.nat({ max: 3 }),
  /** The worst case of its next request, and its actual cost. */
  worst: fc.integer({ min: 1, max: 40 }),
  share: fc.double({ min: 0, max: 1, noNaN: true }),
  ending: fc.constantFrom('goes_on', 'goes_on', 'killed_before', 'killed_after', 'released', 'removed'),
})

interface At {
  name: string
  began: number
  turn: number
  lease: TenantLease | undefined
  /** What its records say. */
  spent: Spent
}

test('bills stay within the limit, none is lost, and nothing stays reserved after the end', async () => {
  const losses = fc.array(fc.boolean(), { minLength: 1, maxLength: 7 }).filter((all) => all.includes(false))
  await fc.assert(
    fc.asyncProperty(
      fc.nat({ max: 300 }),
      fc.array(step, { maxLength: 40 }),
      losses,
      async (limitNanos, steps, lost) => {
        let calls = 0
        // A lost answer is requested again after a pause: here the next attempt gets it.
        const { call, ingress } = fleetOf(() => calls++ % 11 === 10 && lost[calls % lost.length] === true)
        await call('setLimit', limitNanos / 1e9)
        let billed = 0
        let heardGhost = false
        const desk = new LeaseDesk(ingress, 't')
        const sessions: At[] = [0, 1, 2, 3].map((index) => ({
          name: `s${index}`,
          began: 0,
          turn: 1,
          lease: undefined,
          spent: { nanos: 0, unknownNanos: 0 },
        }))
        const ended: AbortController[] = []
        const open = (at: At): Promise<TenantLease> => {
          const gone = new AbortController()
          ended.push(gone)
          const how = { log, gone: gone.signal, committed: at.spent, chunkUsd: chunkNanos / 1e9 }
          return TenantLease.open({ desk, ...leased(at), turn: at.turn, ...how })
        }
        const leased = (at: At) => ({ session: at.name, began: `inv${at.began}` })
        const status = async (): Promise<BudgetStatus> => (await call('status')) as BudgetStatus
        for (const { session, worst, share, ending } of steps) {
          const at = sessions[session]!
          at.lease ??= await open(at)
          const wanted = at.spent.nanos + worst
          if (Math.round(at.lease.usd * 1e9) < wanted) await at.lease.growTo(wanted / 1e9, { signal: never })
          const mayAsk = Math.round(at.lease.usd * 1e9) >= wanted
          const cost = Math.floor(worst * share)
          if (mayAsk && ending !== 'killed_before') {
            billed += cost
            // Either its answer is on record, or only its intent.
            const nanos = ending === 'killed_after' ? worst : cost
            at.spent = {
              nanos: at.spent.nanos + nanos,
              unknownNanos: at.spent.unknownNanos + (ending === 'killed_after' ? worst : 0),
            }
          }
          expect(billed).toBeLessThanOrEqual(limitNanos)
          if (ending === 'killed_before' || ending === 'killed_after') at.lease = undefined
          if (ending === 'released') {
            await call('release', { ...leased(at), turn: at.turn, ...at.spent })
            at.lease = undefined
            at.turn++
          }
          if (ending === 'removed') {
            await call('close', { ...leased(at), spent: at.spent })
            const ghost = at.lease
            at.began++
            at.turn = 1
            at.lease = undefined
            at.spent = { nanos: 0, unknownNanos: 0 }
            const before = await status()
            // The worker that lost it still requests more.
            await ghost?.growTo(1, { signal: never })
            heardGhost ||= JSON.stringify(await status()) !== JSON.stringify(before)
          }
          const { leasedUsd, settledUsd, reservedUsd } = await status()
          expect(Math.round(leasedUsd * 1e9)).toBeLessThanOrEqual(limitNanos)
          expect(Math.round(leasedUsd * 1e9)).toBeGreaterThanOrEqual(billed)
          expect(Math.round((settledUsd + reservedUsd) * 1e9)).toBe(Math.round(leasedUsd * 1e9))
        }
        for (const gone of ended) gone.abort()
        for (const at of sessions) await call('release', { ...leased(at), turn: at.turn, ...at.spent })
        const end = await status()
        expect({ reserved: end.reservedUsd, holders: end.holders }).toEqual({ reserved: 0, holders: 0 })
        expect(Math.round(end.settledUsd * 1e9)).toBeGreaterThanOrEqual(billed)
        expect(await call('holders')).toEqual([])
        expect(heardGhost).toBe(false)
      },
    ),
  )
})
