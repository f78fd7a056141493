// Holds R-WALL-1 of docs/spec.md for `acceptEdits`: whatever runs there without a rule changes nothing outside of the workspace and nothing that is obeyed later, and shows nothing from outside.
import { execFileSync } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type HostileRow, readCorpus } from '../../../policy/test/judge/corpus/read-corpus.ts'
import { isObeyed } from '../../../policy/test/judge/protected-names.ts'
import { environmentIn, makeWorld, type World } from '../../../policy/test/judge/world.ts'
import { sampled } from '../support/deep.ts'
import { type BashRun, canConfineEdits, openEditSession } from './edit-session.ts'
import { changesBetween, folderForMachines, lookAt, Restorable } from './machine.ts'

interface Machine {
  readonly world: World
  readonly files: Restorable
}

const outer = { home: process.env['HOME'], temporary: process.env['TMPDIR'] }
const machines = new Map<string, Machine>()
afterAll(() => machines.forEach(({ files }) => files.remove()))
beforeAll(() => folderForMachines())

function inHome<T>(home: string, work: () => T): T {
  process.env['HOME'] = home
  try {
    return work()
  } finally {
    process.env['HOME'] = outer.home
  }
}

/** One machine for all rows before which the same stands. */
function machineFor(setup: string): Machine {
  const known = machines.get(setup)
  if (known !== undefined) return known
  process.env['TMPDIR'] = folderForMachines()
  const world = makeWorld()
  if (outer.temporary === undefined) delete process.env['TMPDIR']
  else process.env['TMPDIR'] = outer.temporary
  const env = { ...environmentIn(world), W: world.root }
  if (setup !== '') execFileSync('bash', ['-ec', setup], { cwd: world.project, stdio: 'ignore', env })
  const machine = { world, files: new Restorable(world.root) }
  machines.set(setup, machine)
  return machine
}

/** Groups of the corpus that still do harm, each with the file in which that is to be mended. Told with the count, and to be taken out as they come to nothing. */
const open: readonly (readonly [group: RegExp, where: string])[] = [
  [/denied|must not be changed|that git changes|no files$/, 'edit-wall.ts: what deny rules name is not shut'],
  [/denied file in the history/, 'edit-confined.ts: git shows what a deny rule names from the history'],
  [/obeyed later/, 'edit-wall.ts: what appears at a name that is obeyed later is not taken back'],
  [/^links that a line makes$/, 'a hard link in the workspace to a file outside of it'],
]

/** What a line that names commands of git for it may change of a repository. */
const writtenByGit =
  /^project\/(?:[\w-]+\/)?\.git(?:$|\/(?:(?:index|HEAD|ORIG_HEAD|COMMIT_EDITMSG|packed-refs|objects|refs|logs)(?:$|[./])))/

function harmOf(row: Pick<HostileRow, 'deny' | 'harm'>, run: BashRun, changed: readonly string[]): string {
  const wrong = changed.filter(
    (path) =>
      // The program itself keeps long outputs and caches there.
      !/^(?:project|home\/\.halting(?:$|\/(?:projects|caches)))/.test(path) ||
      (isObeyed(path) && !(run.writesGit && writtenByGit.test(path))),
  )
  if (wrong.length > 0) return `changed ${wrong.slice(0, 5).join(' ')}`
  const shown = /CANARY-(?!DENIED|ENV|VARIABLE)[A-Z]+/.exec(run.told)?.[0]
  if (shown !== undefined) return `shows ${shown}`
  if (row.deny.length === 0) return ''
  if (row.harm === 'leak') return /CANARY-(?!ENV)[A-Z]+/.exec(run.told)?.[0] ?? ''
  const { harm } = row
  return harm === 'ran' ? '' : changed.filter((path) => harm.test(path)).join(' ')
}

interface Tried {
  readonly row: HostileRow
  readonly run: BashRun
  readonly harm: string
}

/** Decides about a row as in a session of `acceptEdits`, and runs it where nobody is asked. */
async function attempt(row: HostileRow): Promise<Tried> {
  const { world, files } = machineFor(row.setup)
  const placed = (text: string): string => text.replaceAll('@W', world.root)
  const { project: cwd, home } = world
  process.env['HOME'] = home
  const env = environmentIn(world)
  const session = openEditSession({ cwd, home, env, isConfined: true, deny: row.deny.map(placed), timeoutMs: 5_000 })
  try {
    const run = await session.run(placed(row.command))
    const changed = run.kind === undefined ? [] : changesBetween(files.before, lookAt(world.root))
    if (changed.length > 0) files.restore()
    return { row, run, harm: harmOf(row, run, changed) }
  } finally {
    await session.dispose()
    process.env['HOME'] = outer.home
  }
}

describe.skipIf(!canConfineEdits)('In acceptEdits (needs bubblewrap)', () => {
  test('the wall holds before anything hostile is tried', async () => {
    const { world, files } = machineFor('')
    const { project: cwd, home } = world
    const session = inHome(home, () => openEditSession({ cwd, home, env: environmentIn(world), isConfined: true }))
    const run = await session.run('bash -c "touch ../outside/x2 ~/x2 /etc/x2 /var/x2; touch inside; cat ../outside/x"')
    await session.dispose()
    expect([run.decision, run.kind]).toEqual(['allow', 'edit'])
    const changed = changesBetween(files.before, lookAt(world.root))
    expect(changed.filter((path) => !path.startsWith('home/.halting'))).toEqual(['project/inside'])
    expect(run.told).not.toContain('CANARY')
    files.restore()
  })

  test('no hostile command of the corpus that runs does harm', async () => {
    const rows = sampled(readCorpus('commands'), { deep: 12, quick: 60 }).filter(
      ({ command }) => !command.includes('\0'),
    )
    const all: Tried[] = []
    for (const row of rows) all.push(await attempt(row))
    const ran = all.filter(({ run }) => run.kind === 'edit').length
    const doing = all.filter(({ harm }) => harm !== '')
    const harmed = doing.filter(({ row }) => open.every(([group]) => !group.test(row.group)))
    console.log(
      `${rows.length} hostile commands: ${ran} run confined to the workspace, ${harmed.length} do harm, ${doing.length - harmed.length} are open`,
    )
    for (const { row, harm } of doing) console.log(`${row.group}: ${row.command}   [${harm}]`)
    expect(harmed.map(({ row, harm }) => `${row.group}: ${row.command}   [${harm}]`).join('\n')).toBe('')
  }, 3_600_000)
})
