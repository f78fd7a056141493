// Situations with a goal in the public benchmark of stopping (bench/stopping): its rules, and some of its runs. stopping-bench.test.ts runs all of them.
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, inject, it } from 'vitest'

const folder = new URL('../../../bench/stopping/', import.meta.url)

interface Facts {
  readonly endedBy: 'itself' | 'us'
  readonly exit: number | null
  readonly words: string
  readonly truth: boolean
  readonly requests: number
  readonly turns: number
  readonly billedUsd: number
  readonly wallMs: number
  readonly left: readonly string[]
  readonly files: (name: string) => string
}

interface Situation {
  readonly files: Readonly<Record<string, string>>
  wrong(facts: Facts): readonly string[]
}

const { goalSituations } = (await import(new URL('goal-situations.mjs', folder).href)) as {
  readonly goalSituations: Readonly<Record<string, Situation>>
}

/** A program that exits at once, with exit code 0 and no output. */
const silentSuccess = (situation: Situation): Facts => ({
  endedBy: 'itself',
  exit: 0,
  words: 'All tests pass.',
  truth: false,
  requests: 1,
  turns: 1,
  billedUsd: 0.01,
  wallMs: 1_000,
  left: [],
  files: (name) => situation.files[name] ?? '',
})

describe('the rules of the benchmark for goals', () => {
  it.each(Object.entries(goalSituations))('%s: detects a false "done"', (_, situation) => {
    expect(situation.wrong(silentSuccess(situation))).not.toEqual([])
  })

  it.each(Object.entries(goalSituations))('%s: detects a program that does not end', (_, situation) => {
    expect(situation.wrong({ ...silentSuccess(situation), endedBy: 'us', exit: null })).not.toEqual([])
  })

  it('accept an exit code other than 0, or a message, as an admission', () => {
    const { 'success is claimed': claimed } = goalSituations
    if (claimed === undefined) throw new Error('It is gone.')
    const silent = silentSuccess(claimed)
    expect(claimed.wrong({ ...silent, exit: 6 })).toEqual([])
    expect(claimed.wrong({ ...silent, words: 'All tests pass. The goal is not met: ./check.sh failed.' })).toEqual([])
  })
})

/** The situations to run here: short ones, one of each kind. */
const played = [
  'a goal that is reached',
  'success is claimed',
  'the agent edits what npm test runs',
  'a goal that holds at the turn limit',
  'a judge that is shown an echo',
  'a stop hook that never passes',
  'no answer at all',
]

// Its processes are found in /proc.
describe.runIf(process.platform === 'linux' && process.env['HALTING_DEEP'] !== undefined)('plays with a goal', () => {
  it('have the expected results with this program', async () => {
    const json = join(mkdtempSync(join(tmpdir(), 'halting-stopping-goals-')), 'rows.json')
    const program = join(inject('program'), 'bin/halting.js')
    const given = ['--programs=halting', `--halting=${program}`, '--goals', `--only=${played.join(',')}`]
    await promisify(execFile)(process.execPath, [fileURLToPath(new URL('run.mjs', folder)), ...given, `--json=${json}`])
    const rows = JSON.parse(readFileSync(json, 'utf8')) as readonly {
      readonly title: string
      readonly verdict: string
    }[]
    expect(rows.map(({ title }) => title)).toEqual(expect.arrayContaining(played))
    expect(rows.filter(({ verdict }) => verdict !== 'as it should be')).toEqual([])
  }, 240_000)
})
