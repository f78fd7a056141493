// Holds A1 of packages/policy/src/shell/analysis.ts and R-RULE-7 of docs/spec: the analysis names everything that bash runs for a line, or claims
// nothing.
import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { analyseShell } from '../../src/shell/analysis.ts'
import { generatorSeed as seed, isDeep } from '../support/deep.ts'
import { claimsAll } from './differential/compare.ts'
import { disagreeing, explainDisagreements, traceLines } from './differential/disagreements.ts'
import { LineMaker } from './differential/line-maker.ts'
import { shrink } from './differential/shrink.ts'
import { readTrace } from './differential/trace.ts'
import { runTraced } from './differential/traced-run.ts'
import { wrongReadings } from './differential/wrong-readings.ts'
import { byKind, findHarm, judgeOf, type Trial } from './harm.ts'
import { isBubblewrapThere, makeWorld, removeWorld } from './world.ts'

const count = Number(process.env['HALTING_LINES'] ?? (isDeep ? 4_000 : 500))
const atOnce = 20_000

const world = makeWorld()
const outerHome = process.env['HOME']
beforeAll(() => {
  process.env['HOME'] = world.home
  mkdirSync(join(world.root, 'marks'))
  for (let number = 1; number <= 60; number += 1)
    symlinkSync(join(world.project, 'evil'), join(world.root, 'marks', `mark${number}`))
})
afterAll(() => {
  removeWorld(world)
  process.env['HOME'] = outerHome
})

const trial: Trial = { world, hasRules: false, programs: join(world.root, 'marks') }

/** Lines that would run for long with real programs. */
const isEndless = (line: string): boolean => /\b(?:sleep|yes|tail|top|watch)\b/.test(line)

/** New lines, without duplicates. */
function makeLines(maker: LineMaker, many: number, seen: Set<string>): readonly string[] {
  const made = new Set(Array.from({ length: many }, () => maker.next()))
  const lines = [...made].filter((line) => !line.includes('\0') && !seen.has(line))
  for (const line of lines) seen.add(line)
  return lines
}

describe.skipIf(!isBubblewrapThere)(`${count} lines of seed ${seed} (needs bubblewrap)`, () => {
  test(
    'run only commands that the analysis names, and no allowed line does harm',
    async () => {
      const maker = new LineMaker(seed, world)
      const isAllowed = judgeOf(trial)
      const seen = new Set<string>()
      const sum = { lines: 0, claimed: 0, commands: 0, lost: 0, allowed: 0 }
      const bad: string[] = []
      const harm: string[] = []
      for (let left = count; left > 0; left -= atOnce) {
        const lines = makeLines(maker, Math.min(left, atOnce), seen)
        const allowed = new Set(lines.filter(isAllowed))
        const traces = await traceLines(
          world,
          lines.filter((line) => allowed.has(line) || claimsAll(analyseShell(line))),
        )
        bad.push(...disagreeing(traces, world))
        const short = [...allowed].filter((line) => (traces.get(line)?.commands.length ?? 0) < 100)
        harm.push(...(await findHarm(byKind(short.filter((line) => !isEndless(line))), trial)))
        const runs = [...traces.values()]
        sum.lines += lines.length
        sum.claimed += runs.length
        sum.commands += runs.reduce((total, { commands }) => total + commands.length, 0)
        sum.lost += runs.filter(({ isLost }) => isLost === true).length
        sum.allowed += allowed.size
        if (count > atOnce)
          process.stderr.write(`${JSON.stringify({ ...sum, disagreements: bad.length, harm: harm.length })}\n`)
      }
      console.log(`seed ${seed}: ${JSON.stringify(sum)}, disagreements ${bad.length}, harm ${harm.length}`)
      expect({ harm, disagreements: await explainDisagreements(bad, world) }).toEqual({ harm: [], disagreements: [] })
      expect(sum.claimed).toBeGreaterThan(count / 8)
      expect(sum.allowed).toBeGreaterThan(count / 50)
      expect(sum.lost).toBeLessThan(5 + count / 1_000)
    },
    // A million take hours on a busy machine.
    6 * 3_600_000,
  )

  test('reveal each known fault of a reading', async () => {
    const lines = makeLines(new LineMaker(1, world), 3_000, new Set())
    const claimed = lines.filter((line) => claimsAll(analyseShell(line)))
    const readOtherwise = Object.entries(wrongReadings).map(([fault, reading]) => {
      const differs = (line: string): boolean => JSON.stringify(reading(line)) !== JSON.stringify(analyseShell(line))
      return { fault, reading, lines: claimed.filter(differs).slice(0, 40) }
    })
    const traces = await traceLines(world, [...new Set(readOtherwise.flatMap(({ lines }) => lines))])
    const already = new Set(disagreeing(traces, world))
    const unseen = readOtherwise.filter(({ reading }) =>
      disagreeing(traces, world, reading).every((line) => already.has(line)),
    )
    expect(unseen.map(({ fault }) => fault)).toEqual([])
  }, 120_000)

  test('trace everything that bash runs, writes and does not find', async () => {
    const [run] = await runTraced(world, [
      `echo 'a b' $'c\\nd' "$(mark1)" > w1; f() { env mark2; }; f; cat < r1 <(command mark3 '')`,
    ])
    const { commands = [], ...rest } = run ?? {}
    const texts = commands.map((words) => words.join('|')).toSorted()
    expect(texts.map((text) => text.replace(/fd\/\d+/, 'fd/N'))).toEqual(
      ['echo|a b|c\nd|', 'mark1', 'f', 'env|mark2', 'cat|/dev/fd/N', 'command|mark3|'].toSorted(),
    )
    expect(rest).toEqual({ started: ['mark2', 'mark3'], written: ['w1'], missed: ['r1'] })
  })
})

test('have traces that are read as words of commands', () => {
  const trace =
    "\u0001 echo 'a b' $'c\\n\\377' ''\n\u0001\u0001 x=1\n\u0001 for i in a\n\u0001 [[ x == y ]]\n\u0001 (( 1 ))\n\u0001 m 'a'\\''b' 'c\nd'\n"
  expect(readTrace(trace)).toEqual([
    ['echo', 'a b', 'c\n\u00FF', ''],
    ['m', "a'b", 'c\nd'],
  ])
})

test('are reduced to a minimal disagreement', async () => {
  const smallest = await shrink('for i in a b; do echo "${x:-$(mark1)}"; done # why', async (lines) =>
    lines.map((line) => /\$\(.*k.*\)/.test(line)),
  )
  expect(smallest).toBe('$(k)')
})
