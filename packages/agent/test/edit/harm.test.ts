// Holds R-WALL-1 of docs/spec for `acceptEdits`: a command that runs without a rule changes nothing outside the
// workspace and nothing that is obeyed later, and shows nothing from outside.
import { execFileSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
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

/** One machine for all rows with the same setup. */
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

/**
 * What the program itself stores in its folder: long outputs, caches of confined commands, files that it moved aside,
 * and the confinement that works on this machine.
 */
const storedByProgram = /^home\/\.halting(?:$|\/confinement(?:-edits)?\.json$|\/(?:projects|caches|confined)(?:$|\/))/

/** What a line with git commands for it may change in a repository. */
const writtenByGit =
  /^project\/(?:[\w-]+\/)?\.git(?:$|\/(?:(?:index|HEAD|ORIG_HEAD|COMMIT_EDITMSG|packed-refs|objects|refs|logs)(?:$|[./])))/

function harmOf(row: Pick<HostileRow, 'deny' | 'harm'>, run: BashRun, changed: readonly string[]): string {
  const wrong = changed.filter(
    (path) =>
      !storedByProgram.test(path) &&
      (!/^project(?:$|\/)/.test(path) || (isObeyed(path) && !(run.writesGit && writtenByGit.test(path)))),
  )
  if (wrong.length > 0) return `changed ${wrong.slice(0, 5).join(' ')}`
  const shown = /CANARY-(?!DENIED|ENV|VARIABLE)[A-Z]+/.exec(run.text)?.[0]
  if (shown !== undefined) return `shows ${shown}`
  if (row.deny.length === 0) return ''
  if (row.harm === 'leak') return /CANARY-(?!ENV)[A-Z]+/.exec(run.text)?.[0] ?? ''
  const { harm } = row
  return harm === 'ran' ? '' : changed.filter((path) => harm.test(path)).join(' ')
}

interface Tried {
  readonly row: HostileRow
  readonly run: BashRun
  readonly harm: string
}

/** With HALTING_SLICE=2/8 the second of eight parts, which run in parallel. */
function sliceOf(rows: readonly HostileRow[]): readonly HostileRow[] {
  const [part = 1, parts = 1] = (process.env['HALTING_SLICE'] ?? '1/1').split('/').map(Number)
  return rows.slice(Math.floor(((part - 1) * rows.length) / parts), Math.floor((part * rows.length) / parts))
}

/** Decides about a row like a session in `acceptEdits`, and runs it if nobody is asked. */
async function attempt(row: HostileRow): Promise<Tried> {
  const { world, files } = machineFor(row.setup)
  const placed = (text: string): string => text.replaceAll('@W', world.root)
  const { project: cwd, home } = world
  process.env['HOME'] = home
  const env = environmentIn(world)
  const session = openEditSession({ cwd, home, env, isConfined: true, deny: row.deny.map(placed), timeoutMs: 5_000 })
  try {
    const run = await session.run(placed(row.command))
    const changed = run.decision === 'allow' ? changesBetween(files.before, lookAt(world.root)) : []
    if (changed.some((path) => !storedByProgram.test(path))) files.restore()
    return { row, run, harm: harmOf(row, run, changed) }
  } finally {
    await session.dispose()
    process.env['HOME'] = outer.home
  }
}

describe.skipIf(!canConfineEdits)('In acceptEdits (needs bubblewrap)', () => {
  test('the confinement works before anything hostile is tried', async () => {
    const { world, files } = machineFor('')
    const { project, home } = world
    const session = inHome(home, () =>
      openEditSession({ cwd: project, home, env: environmentIn(world), isConfined: true }),
    )
    // A line that names these places would ask.
    writeFileSync(
      join(project, 'probe.sh'),
      'touch ../outside/x2 ~/x2 /etc/halting-x2 /var/halting-x2; touch inside; cat ../outside/x\n',
    )
    const run = await session.run('bash ./probe.sh')
    await session.dispose()
    expect([run.decision, run.kind]).toEqual(['allow', 'edit'])
    const changed = changesBetween(files.before, lookAt(world.root))
    expect(changed.filter((path) => !storedByProgram.test(path))).toEqual(['project/inside', 'project/probe.sh'])
    expect(['/etc/halting-x2', '/var/halting-x2'].filter((path) => existsSync(path))).toEqual([])
    expect(run.text).not.toContain('CANARY')
    files.restore()
  })

  test('no hostile command of the corpus that runs does harm', async () => {
    // A hard link to an outside file is in the workspace, for every program (R-EWALL-3a).
    const rows = sliceOf(
      sampled(readCorpus('commands'), { deep: 24, quick: 120 }).filter(
        ({ command, group }) => !command.includes('\0') && group !== 'links in .git: a hard link',
      ),
    )
    const all: Tried[] = []
    for (const row of rows) all.push(await attempt(row))
    const came = (decision: BashRun['decision']): number => all.filter(({ run }) => run.decision === decision).length
    const confined = all.filter(({ run }) => run.kind !== undefined).length
    const harmful = all.filter(({ harm }) => harm !== '')
    console.log(
      `${rows.length} hostile commands: ${confined} run confined, ${came('allow') - confined} run as they are, ${came('ask')} ask, ${came('deny') + came('fail')} are denied, ${harmful.length} do harm`,
    )
    expect(harmful.map(({ row, harm }) => `${row.group}: ${row.command}   [${harm}]`).join('\n')).toBe('')
  }, 3_600_000)
})
