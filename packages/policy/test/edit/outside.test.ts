// Holds R-EWALL-2, R-EWALL-5, R-EWALL-8, R-EWALL-8a, R-EWALL-9 and R-EWALL-9a of docs/spec for commands that replace scanned folders by links and other
// folders.
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { globPattern } from '../../src/files/glob-pattern.ts'
import type { PlacePattern } from '../../src/sandbox/expand.ts'
import { EditWall } from '../../src/sandbox/edit-wall.ts'
import { means, type Place, place, runLine } from './support.ts'

describe.skipIf(means === undefined)('a file outside the workspace', () => {
  test('is not moved when a link replaces a scanned folder', async () => {
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

  test('stays in place when a link replaces the folder of a missing denied file', async () => {
    const { run, project, home } = place()
    writeFileSync(join(home, 'key'), 'mine')
    const named = { anchors: [project], glob: globPattern('keys/key'), named: [join(project, 'keys/key')] }
    const denied = { read: [], edit: [named] }
    await run(`ln -s '${home}' keys`, { denied })
    expect(existsSync(join(home, 'key'))).toBe(true)
  })

  test('keeps its mode when a link to it cannot be moved', async () => {
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

  test('is not read through a link that replaced a readable path', async () => {
    const { run, project, home } = withSecret()
    await run(`ln -s '${home}/.ssh' docs`)
    const { output } = await run('cat docs/id', { readable: [join(project, 'docs')] })
    expect(output).not.toContain('S3CRET')
  })

  test('is not written through a link that replaced a directory of the session', async () => {
    const { run, project, home, write } = withSecret()
    write({ 'a/.ssh/x': '' })
    const directories = [project, join(project, 'a/.ssh'), join(home, '.ssh')]
    await run(`mv a b; ln -s '${home}' a`, { directories: directories.slice(0, 2) })
    for (const given of [directories, directories.slice(0, 2)])
      expect(() => run('echo evil > a/.ssh/id', { directories: given })).toThrow(/link that commands can change/)
    expect(readFileSync(join(home, '.ssh/id'), 'utf8')).toBe('S3CRET')
  })

  test('is not read through tools of the person that are links to the workspace', async () => {
    const { run, project, home, write } = withSecret()
    write({ 'dot/gitconfig': '', 'dot/tool': '' })
    mkdirSync(join(home, '.local/bin'), { recursive: true })
    symlinkSync(join(project, 'dot/gitconfig'), join(home, '.gitconfig'))
    symlinkSync(join(project, 'dot/tool'), join(home, '.local/bin/tool'))
    await run(
      `mkdir bin; for file in dot/gitconfig dot/tool bin/x; do rm -f $file; ln -s '${home}/.ssh/id' $file; done`,
    )
    const env = { PATH: `${project}/bin:${home}/.local/bin:${process.env['PATH']}`, GOROOT: join(project, 'bin/x') }
    const { output } = await run(`cat '${home}/.ssh/id' ~/.gitconfig ~/.local/bin/tool`, { env })
    expect(output).not.toContain('S3CRET')
  })

  test('is read through settings of the person that are links to the workspace', async () => {
    const { run, project, home, write } = place()
    write({ 'dot/gitconfig': '[user]\nname = me\n' })
    symlinkSync(join(project, 'dot/gitconfig'), join(home, '.gitconfig'))
    expect((await run('git config user.name')).output).toBe('me\n')
  })
})

describe.skipIf(means === undefined)('a command that changes folders above a file', () => {
  test('does not give the next command access to denied files', async () => {
    const { run, project, write } = place()
    write({ 'a/conf/key': 'S3CRET', 'a/conf/deep/x': 'S3CRET', 'c/d/lock': 'mine' })
    const named = (name: string): PlacePattern => ({
      anchors: [project],
      glob: globPattern(name),
      named: [join(project, name)],
    })
    const denied = { read: [named('a/conf/key'), named('a/conf/deep')], edit: [named('c/d/lock')] }
    await run('mv a/conf a/conf2; mv a b; mv c/d c/e; mv c f; touch a/conf/new', { denied })
    const { output } = await run('cat */conf*/key */conf*/*/x; echo evil | tee */d/lock */e/lock; mv c/e c/d', {
      denied,
    })
    expect(output).not.toContain('S3CRET')
    expect(readFileSync(join(project, 'c/d/lock'), 'utf8')).toBe('mine')
    expect(existsSync(join(project, 'a/conf/new'))).toBe(true)
  })

  test('does not hide control files in a skipped folder', async () => {
    const { run, project, write } = place()
    write({ 'lib/sub/.envrc': 'mine' })
    await run('touch pyvenv.cfg lib/pyvenv.cfg')
    const { aftermath } = await run(
      'echo evil > lib/sub/.envrc; mkdir -p target new; git init -q target; mv new node_modules; touch node_modules/.envrc; mkdir -p lib/x; touch lib/x/.npmrc',
    )
    expect(readFileSync(join(project, 'lib/sub/.envrc'), 'utf8')).toBe('mine')
    expect(aftermath.takenBack.map(({ path }) => path.slice(project.length + 1)).toSorted()).toEqual([
      'lib/x/.npmrc',
      'node_modules/.envrc',
      'target/.git',
    ])
  })

  test.skipIf(process.getuid?.() === 0)(
    'does not hide control files by removing permissions (not as root)',
    async () => {
      const { run, project, write } = place()
      write({ 'sub/.envrc': 'mine' })
      await run('mkdir n m; touch n/.envrc m/.envrc; chmod 311 n sub; chmod 0 m')
      expect(readdirSync(join(project, 'n'))).toEqual([])
      expect(readdirSync(join(project, 'm'))).toEqual([])
      await run('echo evil > sub/.envrc')
      expect(readFileSync(join(project, 'sub/.envrc'), 'utf8')).toBe('mine')
    },
  )
})

function withSecret(): Place {
  const made = place()
  mkdirSync(join(made.home, '.ssh'))
  writeFileSync(join(made.home, '.ssh/id'), 'S3CRET')
  return made
}
