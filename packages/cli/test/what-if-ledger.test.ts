// Holds R-LIM-73, R-LIM-74 and R-LIM-84 of docs/spec with real processes and a real ledger: what-if predicts the effect of a budget on sessions without one.
import { mkdirSync, mkdtempSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { WhatIf } from '@halting/analysis'
import type { Report } from '@halting/analysis/report'
import { budgetName } from '@halting/core/adapters'
import { expect, test } from 'vitest'
import { type Ended, here, installProgram, run } from './support/program.ts'

installProgram()

type Halting = (...args: readonly string[]) => Promise<Ended>

function person(settings: object): Halting {
  const home = realpathSync(mkdtempSync(join(here(), 'person-')))
  const cwd = join(home, 'work')
  for (const folder of [cwd, join(home, '.halting')]) mkdirSync(folder)
  writeFileSync(join(home, '.halting/settings.json'), JSON.stringify(settings))
  return (...args) => run(args, { cwd, env: { HOME: home } })
}

const runs = 3

/** The exit codes of consecutive runs. */
async function statuses(halting: Halting): Promise<readonly Ended['status'][]> {
  const script = join(here(), 'hello.json')
  writeFileSync(script, JSON.stringify({ model: 'claude-sonnet-5-5', replies: [{ content: ['Hello.'] }] }))
  const all: Ended['status'][] = []
  for (let index = 0; index < runs; index++) all.push((await halting('-p', 'hi', '--script', script)).status)
  return all
}

test('ends the runs that what-if names, and why and report say so', async () => {
  const free = person({})
  expect(await statuses(free)).toEqual([0, 0, 0])
  const predicted = async (usd: number): Promise<readonly number[]> => {
    const { stdout } = await free('what-if', '--budget-per-day', String(usd), '--json')
    const { answers } = JSON.parse(stdout) as { readonly answers: readonly { readonly answer: WhatIf }[] }
    // The newest session comes first.
    return answers.map(({ answer }) => (answer.verdict === 'stops' ? 3 : 0)).toReversed()
  }
  // The smallest of these that fits the first run; all three have nothing left then.
  let usd = 0.05
  let expected = await predicted(usd)
  for (let tries = 0; tries < 50 && expected[0] === 3; tries++) {
    usd = Number((usd + 0.003).toFixed(3))
    expected = await predicted(usd)
  }
  expect(expected).toEqual([0, ...expected.slice(1)])
  expect(expected.at(-1)).toBe(3)

  const limited = person({ budgets: [{ per: 'day', usd }] })
  expect(await statuses(limited)).toEqual(expected)
  const name = budgetName({ per: 'day', usd })
  const { stdout: why } = await limited('why')
  expect(why).toContain(`max_budget_usd: Too little is left of ${name}`)
  expect(why).toMatch(new RegExp(`\\${name} .*, resets at \\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d`))
  const { budgets } = JSON.parse((await limited('report', '--json')).stdout) as Report
  const ended = expected.filter((status) => status === 3).length
  expect(budgets).toMatchObject([{ budget: name, kind: 'standing', runs: ended, limitUsd: usd }])
})
