// Tests R-END-10: when a run can never continue, the newest pending step is broken first.
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { BreakableSteps } from '../../src/steps/breakable-steps.ts'
import type { StepEngine, StepOptions } from '../../src/steps/step-engine.ts'

type Move =
  | { readonly kind: 'begin' }
  | { readonly kind: 'settle'; readonly place: number }
  | { readonly kind: 'break' }

const moves = fc.array(
  fc.oneof(
    fc.constant<Move>({ kind: 'begin' }),
    fc.record({ kind: fc.constant('settle' as const), place: fc.nat(9) }),
    fc.constant<Move>({ kind: 'break' }),
  ),
  { maxLength: 30 },
)

// The engine passes each step through: only `run` is called.
const engine = { run: (_key: string, effect: () => unknown) => effect() } as unknown as StepEngine
const options = {} as StepOptions<never>

test('each break rejects the newest pending step, and nothing else, whatever settles in between', async () => {
  await fc.assert(
    fc.asyncProperty(moves, async (plan) => {
      const steps = new BreakableSteps(engine)
      const settled: string[] = []
      const expected: string[] = []
      let [pending, started, isBroken]: [{ id: number; settle: () => void }[], number, boolean] = [[], 0, false]
      for (const move of plan) {
        if (move.kind === 'begin') {
          const id = started++
          let settle = (): void => {}
          const work = new Promise<void>((resolve) => (settle = resolve))
          const step = Promise.resolve(steps.run(`step ${id}`, () => work as Promise<never>, options))
          void step.then(
            () => settled.push(`${id} settled`),
            () => settled.push(`${id} rejected`),
          )
          if (isBroken) expected.push(`${id} rejected`)
          else pending.push({ id, settle })
        } else if (move.kind === 'settle') {
          const chosen = pending[move.place]
          if (chosen === undefined) continue
          pending = pending.filter((each) => each !== chosen)
          chosen.settle()
          expected.push(`${chosen.id} settled`)
        } else {
          const last = pending.pop()
          settled.push(`break: ${String(steps.break())}`)
          expected.push(`break: ${String(last !== undefined)}`)
          if (last === undefined) continue
          isBroken = true
          // A late result changes nothing.
          last.settle()
          expected.push(`${last.id} rejected`)
        }
        await new Promise((resolve) => setImmediate(resolve))
      }
      expect(settled).toEqual(expected)
    }),
  )
})
