// Holds R-RULE-7 of docs/spec: generated commands that run without a rule change nothing, start no other program and reveal nothing outside of the
// project.
import { afterAll, expect, test } from 'vitest'
import { generatorSeed, isDeep } from '../support/deep.ts'
import { CommandMaker } from './fuzz-grammar.ts'
import { byKind, findHarm, judgeOf, type Trial } from './harm.ts'
import { isBubblewrapThere, makeWorld, removeWorld } from './world.ts'

const count = Number(process.env['HALTING_FUZZ'] ?? (isDeep ? 1_500 : 300))
const trial: Trial = { world: makeWorld(), hasRules: true }
const outerHome = process.env['HOME']
afterAll(() => {
  removeWorld(trial.world)
  process.env['HOME'] = outerHome
})

test.skipIf(!isBubblewrapThere)(
  `${count} generated commands do no harm if they run without a rule (needs bubblewrap)`,
  async () => {
    process.env['HOME'] = trial.world.home
    const maker = new CommandMaker(generatorSeed)
    const isAllowed = judgeOf(trial)
    const seen = new Set<string>()
    const sum = { generated: 0, allowed: 0, run: 0 }
    const bad: string[] = []
    for (let left = count; left > 0; left -= 20_000) {
      const many = Math.min(left, 20_000)
      const allowed = Array.from({ length: many }, () => maker.next()).filter(isAllowed)
      const different = [...new Set(allowed)].filter((command) => !seen.has(command))
      for (const command of different) seen.add(command)
      bad.push(...(await findHarm(byKind(different), trial)))
      sum.generated += many
      sum.allowed += allowed.length
      sum.run += different.length
      if (count > 20_000)
        process.stderr.write(`${JSON.stringify({ ...sum, tripped: bad.length })} ${bad.slice(0, 5).join(' ;; ')}\n`)
    }
    console.log(
      `seed ${generatorSeed}: generated ${sum.generated}, let through ${sum.allowed}, of these different and run ${sum.run}, tripped ${bad.length}`,
    )
    expect(bad).toEqual([])
    expect(sum.allowed).toBeGreaterThan(count / 20)
  },
  // A million take two hours on a busy machine.
  4 * 3_600_000,
)
