// Holds R-RULE-1b, R-RULE-5 and R-RULE-7 of docs/spec against a corpus of hostile commands: each does its harm if nobody judges it, and none is allowed.
import { execFileSync, spawnSync } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hardenedEnvironment } from '../../src/git/git-environment.ts'
import { isReadOnlyCommand } from '../../src/shell/read-only.ts'
import { sampled } from '../support/deep.ts'
import { type HostileRow, readCorpus } from './corpus/read-corpus.ts'
import { judged } from './support.ts'
import {
  canary,
  environmentIn,
  isBubblewrapThere,
  makeWorld,
  type Outcome,
  removeWorld,
  runMany,
  together,
  type World,
} from './world.ts'

const rows = readCorpus('commands')
const isThere = (program: string): boolean => spawnSync('sh', ['-c', `command -v ${program}`]).status === 0
const programs = new Map([...new Set(rows.flatMap(({ needs }) => needs))].map((name) => [name, isThere(name)]))
const missing = (row: HostileRow): readonly string[] => row.needs.filter((name) => programs.get(name) !== true)

/** Rules that a person would have, unrelated to the commands of the corpus. */
const usual = [
  'Bash(git status:*)',
  'Bash(npm test:*)',
  'Bash(npm run build)',
  'Bash(ls -la)',
  'Bash(pwd)',
  'Bash(make test)',
  'Bash(tsc --noEmit)',
]

const worlds = new Map<string, World>()
const outerHome = process.env['HOME']

/** One world for all rows with the same setup. */
function worldOf({ setup }: HostileRow): World {
  const known = worlds.get(setup)
  if (known !== undefined) return known
  const world = makeWorld()
  worlds.set(setup, world)
  if (setup !== '')
    execFileSync('bash', ['-ec', setup], {
      cwd: world.project,
      stdio: 'ignore',
      env: { ...environmentIn(world), W: world.root },
    })
  return world
}

const placed = (text: string, { root }: World): string => text.replaceAll('@W', root)

/** The rules and modes that allow a row. */
function waysThrough(row: HostileRow): readonly string[] {
  const world = worldOf(row)
  process.env['HOME'] = world.home
  const command = placed(row.command, world)
  const deny = row.deny.map((rule) => placed(rule, world))
  const cwd = world.project
  const ways =
    deny.length > 0
      ? { bypass: { mode: 'bypassPermissions' as const, deny }, 'all allowed': { allow: ['Bash'], deny } }
      : {
          'no rules': {},
          ...(!row.isByRule && { 'usual rules': { allow: [...usual, ...row.allow] } }),
          ...(!row.isEdit && { acceptEdits: { mode: 'acceptEdits' as const } }),
        }
  return Object.entries(ways).flatMap(([name, options]) =>
    judged(command, { cwd, ...options }) === 'allow' ? [name] : [],
  )
}

function didHarm({ harm }: HostileRow, { printed, changed }: Outcome): boolean {
  if (harm === 'ran') return changed.includes('ran/mark')
  return harm === 'leak' ? canary.test(printed) : changed.some((path) => harm.test(path))
}

beforeAll(() => {
  for (const row of rows) if (missing(row).length === 0) worldOf(row)
}, 60_000)

afterAll(() => {
  for (const world of worlds.values()) removeWorld(world)
  process.env['HOME'] = outerHome
})

test('the corpus has at least 500 different commands', () => {
  expect(rows.length).toBeGreaterThanOrEqual(500)
  const keys = rows.map(({ command, setup, deny }) => JSON.stringify([command, setup, deny]))
  expect(keys.filter((key, at) => keys.indexOf(key) !== at)).toEqual([])
})

/** Commands without a rule get a special environment: allowed commands are run as the tool runs them. */
async function isDisarmed(row: HostileRow): Promise<boolean> {
  const world = worldOf(row)
  const command = placed(row.command, world)
  if (!isBubblewrapThere || !/\b(?:git|less|more)\b/.test(command) || !isReadOnlyCommand(command)) return false
  const [outcome] = await runMany(world, [command], hardenedEnvironment())
  return outcome !== undefined && !didHarm(row, outcome)
}

test('no command is allowed', async () => {
  const through: string[] = []
  for (const row of rows) {
    const ways = waysThrough(row)
    if (ways.length > 0 && !(await isDisarmed(row))) through.push(`${row.group}: ${row.command}   [${ways.join(', ')}]`)
  }
  expect(through).toEqual([])
}, 120_000)

function inPieces<T>(items: readonly T[], size: number): readonly (readonly T[])[] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, at) => items.slice(at * size, (at + 1) * size))
}

const describeRow = ({ group, command }: HostileRow, { printed, changed }: Outcome): string =>
  `${group}: ${command}\n    ${printed.slice(0, 300)} changed ${changed.join(' ')}`

/** A program that the row runs and that is missing on this machine; undefined if none is. */
function absentProgram({ printed }: Outcome): string | undefined {
  const named = [
    ...printed.matchAll(/([\w.+-]+): (?:command )?not found|run command [‘']([\w.+-]+)[’']: No such file/g),
  ]
  return named.map(([, one, other]) => one ?? other ?? '').find((name) => name !== '' && !isThere(name))
}

describe.skipIf(!isBubblewrapThere)('without judging (needs bubblewrap)', () => {
  // Only a part of them in quick runs.
  const run = sampled(rows, { deep: 12, quick: 24 }).filter((row) => missing(row).length === 0)
  const skipped = [...programs].filter(([, is]) => !is).map(([name]) => name)

  test(`each command does its harm${skipped.length > 0 ? ` (except those that need ${skipped.join(', ')})` : ''}`, async () => {
    const absent = new Set<string>()
    const harmless = async (rows: readonly HostileRow[]): Promise<readonly (readonly [HostileRow, Outcome])[]> => {
      const byWorld = new Map<World, HostileRow[]>()
      for (const row of rows) byWorld.set(worldOf(row), [...(byWorld.get(worldOf(row)) ?? []), row])
      const batches = [...byWorld].flatMap(([world, ofWorld]) =>
        inPieces(ofWorld, 60).map((piece) => ({ world, piece })),
      )
      const outcomes = await together(batches, 3, async ({ world, piece }) => {
        const found = await runMany(
          world,
          piece.map(({ command }) => placed(command, world)),
        )
        return piece.flatMap((row, at) => (didHarm(row, found[at]!) ? [] : [[row, found[at]!] as const]))
      })
      return outcomes.flat()
    }
    // A command has five seconds, which may be too few on a busy machine: retry once.
    const again = (await harmless(run)).flatMap(([row, outcome]) => {
      const program = absentProgram(outcome)
      if (program !== undefined) absent.add(program)
      return program === undefined ? [row] : []
    })
    const left = await harmless(again)
    if (absent.size > 0) console.log(`not shown, for want of ${[...absent].join(', ')}`)
    expect(left.map(([row, outcome]) => describeRow(row, outcome)).join('\n')).toBe('')
  }, 900_000)
})
