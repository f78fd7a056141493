// Holds R-EWALL-5 of docs/spec, with real processes that are killed.
import { spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import { baselineOf } from '../../src/sandbox/edit-baseline.ts'
import { EditJournal } from '../../src/sandbox/edit-journal.ts'
import { FolderScanner } from '../../src/sandbox/folder-scan.ts'
import { means, place } from './support.ts'

/** A program that is killed while its confined command runs. */
const program = `
import { spawn } from 'node:child_process'
import { EditWall } from ${JSON.stringify(join(dirname(fileURLToPath(import.meta.url)), '../../dist/sandbox/wall.js'))}
const { means, home, state, project, line } = JSON.parse(process.argv[2])
const wall = new EditWall({ means, home, keptFolders: [], stateFolder: state })
const confinement = { kind: 'edit', directories: [project], readable: [], denied: { read: [], edit: [] }, writesGit: false }
const started = wall.confine({ file: 'bash', args: ['-c', line], directory: project, env: process.env, firstDescriptor: 3 }, confinement)
const child = spawn(started.file, started.args, { cwd: project, env: started.env, stdio: ['ignore', 'inherit', 'inherit', ...started.descriptors] })
started.started(child)
`

describe.skipIf(means === undefined)('a command of a killed program', () => {
  test('ends with the program, and the next command moves aside what it created and nothing else', async () => {
    const { project, home, state, run, write } = place()
    write({ '.vscode/x': 'mine', 'killed.mjs': program })
    const name = `/tmp/W-edit-${process.pid}`
    onTestFinished(() => rmSync(name, { force: true }))
    const line = `mkdir .idea; echo kept > ${name}; echo ready; sleep 0.7; touch late`
    const child = spawn(
      process.execPath,
      [join(project, 'killed.mjs'), JSON.stringify({ means, home, state, project, line })],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    )
    await new Promise((resolve) => child.stdout.once('data', resolve))
    child.kill('SIGKILL')
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    expect([existsSync(join(project, 'late')), existsSync(join(project, '.idea'))]).toEqual([false, true])
    const { aftermath } = await run('true')
    expect(aftermath.takenBack.map(({ path }) => path)).toEqual([join(project, '.idea')])
    expect([readFileSync(name, 'utf8'), readFileSync(join(project, '.vscode/x'), 'utf8')]).toEqual(['kept\n', 'mine'])
    expect((await run('true')).aftermath.takenBack).toEqual([])
    expect(readdirSync(state).flatMap((folder) => readdirSync(join(state, folder)))).toEqual(['taken-back'])
  })
})

test.skipIf(means === undefined)('leaves files alone that appeared after the program was killed', async () => {
  const { project, state, run, write } = place()
  const journal = new EditJournal(state, [project])
  journal.open(baselineOf([project], new FolderScanner().scan([project]), []), undefined)
  // Its process is running, so nothing is abandoned.
  expect(journal.takeAbandoned()).toEqual([])
  const [file = ''] = readdirSync(journal.folder)
  const path = join(journal.folder, file)
  const stored = JSON.parse(readFileSync(path, 'utf8')) as object
  // The process id was reused, and the command was last seen a minute ago.
  writeFileSync(path, JSON.stringify({ ...stored, startedTicks: '1' }))
  const minuteAgo = new Date(Date.now() - 60_000)
  utimesSync(path, minuteAgo, minuteAgo)
  write({ '.idea/x': 'mine' })
  expect((await run('true')).aftermath.takenBack).toEqual([])
  expect(readFileSync(join(project, '.idea/x'), 'utf8')).toBe('mine')
  expect(existsSync(path)).toBe(false)
})
