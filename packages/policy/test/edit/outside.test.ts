// Holds R-EWALL-2, R-EWALL-5, R-EWALL-8 and R-EWALL-9 of docs/spec.md where a command puts links and other folders in the place of those that were scanned.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { globPattern } from '../../src/files/glob-pattern.ts'
import { EditWall } from '../../src/sandbox/edit-wall.ts'
import { means, place, runLine } from './support.ts'

describe.skipIf(means === undefined)('what lies outside', () => {
  test('is not moved where a link replaces a folder that was scanned', async () => {
    const { write, run, project, home } = place()
    write({ 'sub/person/x': '', 'sub/person/deep/x': '' })
    mkdirSync(join(home, 'person/deep'), { recursive: true })
    for (const name of ['person/.bashrc', 'person/deep/.envrc']) writeFileSync(join(home, name), 'mine')
    const { aftermath } = await run(`mv sub sub2; ln -s '${home}' sub`)
    expect(aftermath.takenBack).toEqual([])
    expect(readdirSync(join(home, 'person')).toSorted()).toEqual(['.bashrc', 'deep'])
    expect(existsSync(join(home, 'person/deep/.envrc'))).toBe(true)
    expect(existsSync(join(project, 'sub2/person/x'))).toBe(true)
  })

  test('keeps its files where a link replaces the folder of a denied file that was missing', async () => {
    const { run, project, home } = place()
    writeFileSync(join(home, 'key'), 'mine')
    const named = { anchors: [project], glob: globPattern('keys/key'), named: [join(project, 'keys/key')] }
    const denied = { read: [], edit: [named] }
    await run(`ln -s '${home}' keys`, { denied })
    expect(existsSync(join(home, 'key'))).toBe(true)
  })

  test('keeps its mode where a link to it cannot be moved', async () => {
    if (means === undefined || !existsSync('/dev/shm')) return
    const { project, home } = place()
    writeFileSync(join(home, 'key'), 'mine', { mode: 0o400 })
    // On another file system.
    const stateFolder = mkdtempSync('/dev/shm/halting-edit-test-')
    const wall = new EditWall({ means, home, keptFolders: [], stateFolder })
    onTestFinished(() => {
      wall.dispose()
      rmSync(stateFolder, { recursive: true, force: true })
    })
    await runLine(`ln -s '${home}/key' .envrc`, wall, { project, env: { ...process.env, HOME: home } })
    expect(statSync(join(home, 'key')).mode & 0o777).toBe(0o400)
  })
})
