// Spec R-CACHE-2, R-CACHE-3, R-CACHE-4, R-CACHE-5, R-CACHE-6.
import { spawn } from 'node:child_process'
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { array, assert, asyncProperty, constantFrom, oneof, tuple } from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cachePlaces } from '../../src/sandbox/cache-places.ts'
import { sweepCaches } from '../../src/sandbox/cache-sweep.ts'
import { ToolCaches } from '../../src/sandbox/edit-caches.ts'
import { allMeans, runLine as runReading } from '../confine/support.ts'
import { isDeep } from '../support/deep.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { means, place, type Place } from './support.ts'

const perl = '/usr/bin/perl'

interface World extends Place {
  /** The folder of all caches of confined commands. */
  readonly folder: string
  /** The folder of this project. */
  own(): string
}

/** Files below a folder. */
function put(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
}

/** Everything observable in a folder: names, kinds, modes, times of change and contents. */
function snapshotOf(folder: string): readonly string[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => !name.startsWith('.halting'))
    .toSorted()
    .map((name) => {
      const path = join(folder, name)
      const stats = lstatSync(path)
      const text = stats.isFile() ? readFileSync(path, 'utf8') : stats.isSymbolicLink() ? readlinkSync(path) : ''
      return `${name} ${stats.mode} ${stats.ino} ${stats.mtimeMs} ${text}`
    })
}

function world(kind: 'overlay' | 'plain', sharing?: World): World {
  const holder: { caches?: ToolCaches } = {}
  const made = place({
    caches: { enter: (env) => holder.caches?.enter(env) ?? { mounts: [], env: {} } },
  })
  const home = sharing?.home ?? made.home
  const folder = join(home, '.halting/caches')
  holder.caches = new ToolCaches({
    folder,
    project: made.project,
    home,
    directories: [made.project],
    path: '/usr/bin:/bin',
    // A program that starts nothing: detection finds no overlays.
    bubblewrap: kind === 'overlay' ? (means?.file ?? '') : '/bin/false',
  })
  const own = (): string => {
    const name = readdirSync(folder).find((each) => each.startsWith('project-'))
    return join(folder, name ?? 'none')
  }
  return { ...made, folder, own }
}

const real = {
  '.cache/go-build/ab/entry': 'go',
  '.cache/pip/http/entry': 'pip',
  '.cache/ccache/0/entry': 'ccache',
  '.npm/_cacache/content/entry': 'npm',
  '.cargo/registry/index/entry': 'cargo',
  'go/pkg/mod/module/file': 'module',
}

/** Credentials and private data next to caches and inside them. */
const secrets = (
  '.npmrc .yarnrc.yml .cargo/credentials .cargo/credentials.toml .m2/settings.xml .m2/settings-security.xml .gradle/gradle.properties ' +
  '.gradle/init.gradle .gradle/init.d/own.gradle .composer/auth.json .gem/credentials .bundle/config .ivy2/.credentials .sbt/1.0/credentials.sbt ' +
  '.sbt/.credentials .nuget/NuGet/NuGet.Config .cabal/config .hex/hex.config .conan/.conan.db .conan2/credentials.json .conan2/.conan.db ' +
  '.terraform.d/credentials.tfrc.json .pub-cache/credentials.json .julia/servers/auth.toml .ccache/ccache.conf .npm/_logs/debug.log ' +
  '.stack/config.yaml .cache/gcloud/token .cache/gh/answer .cache/huggingface/token .cache/huggingface/stored_tokens .cache/aws/sso/token .cache/azure/token ' +
  '.cache/mozilla/page .cache/thunderbird/mail .cache/keyring-1/control .cache/unknown/what .cache/file .local/share/keyrings/login.keyring ' +
  '.local/share/NuGet/other .aws/credentials .ssh/id_ed25519 .netrc .git-credentials .docker/config.json .config/gh/hosts.yml'
).split(' ')

describe.skipIf(means === undefined).each(['overlay', 'plain'] as const)('caches of confined commands (%s)', (kind) => {
  it('never write to the caches of the person, and persist for the next confined command', async () => {
    const at = world(kind)
    put(at.home, real)
    const before = snapshotOf(at.home)
    const poison =
      'for f in .cache/go-build/ab/entry .cache/pip/http/entry .cache/ccache/0/entry .npm/_cacache/content/entry .cargo/registry/index/entry ' +
      'go/pkg/mod/module/file; do mkdir -p ~/${f%/*} && echo poison >~/$f; done; mkdir -p ~/.cache/new; echo poison >~/.cache/new/entry; rm -rf ~/.cache/pip; true'
    expect(await at.run(poison)).toMatchObject({ exitCode: 0 })
    expect(snapshotOf(at.home)).toEqual(before)
    const again = await at.run(
      'cd ~ && cat .cache/go-build/ab/entry .cache/ccache/0/entry .cache/new/entry; ls .cache/pip',
    )
    expect(again.output).toMatch(kind === 'overlay' ? /^(poison\n){3}ls: .*No such file/ : /^(poison\n){3}/)
    // An unconfined command has the person's home, and no path leads from there to the written files.
    expect(snapshotOf(at.home).filter((line) => line.includes('poison'))).toEqual([])
  })

  it('hide credentials from every access path', async () => {
    const at = world(kind)
    put(at.home, { ...real, ...Object.fromEntries(secrets.map((name) => [name, 'SECRET'])) })
    const { output } = await at.run(
      'grep -rIl SECRET ~ /proc/self/root"$HOME" /proc/1/root"$HOME" 2>/dev/null; cd ~; cat .npmrc .cache/gcloud/token; echo done',
    )
    expect(output).not.toContain('SECRET')
    expect(output).toMatch(/done\n$/)
    expect(output).not.toMatch(/credentials|token$/m)
  })

  it('give no access to the real caches, or to the folder that receives the writes', async () => {
    const at = world(kind)
    put(at.home, real)
    await at.run('true')
    const before = snapshotOf(at.home)
    const folder = at.own()
    const names = [at.folder, folder, dirname(at.folder), `/proc/self/root${folder}`, `/proc/1/root${folder}`]
    const tries = [
      ...names.map((name) => `ls -A ${name} 2>/dev/null; echo x >${name}/x`),
      'ln -s ~/.cache/../.cache/go-build/ab/entry l && echo x >l',
      'for p in $(cut -d" " -f4,5 /proc/self/mountinfo); do echo x >$p/x; done',
      'find / -xdev \\( -name "*.written" -o -name slots \\) -not -path "/proc/*"',
      'ln ~/.cache/go-build/ab/entry ~/hard && echo x >~/hard',
      'unshare -Ur umount -l ~/.cache; umount -l ~/.cache; mount -t tmpfs none ~/.cache',
    ]
    const { output } = await at.run(
      `(${tries.join('; ')}) 2>/dev/null; grep -c 'caches/.*written' /proc/self/mountinfo`,
    )
    expect(output).not.toMatch(/written|slots|overlays\.json/)
    expect(snapshotOf(at.home)).toEqual(before)
    expect(readdirSync(folder).includes('x') || readdirSync(at.folder).includes('x')).toBe(false)
  })

  it('belong to one project', async () => {
    const at = world(kind)
    await at.run('mkdir -p ~/.cache/tool && echo one >~/.cache/tool/entry')
    const other = world(kind, at)
    const { output } = await other.run('cat ~/.cache/tool/entry', { env: { HOME: at.home } })
    expect(output).toContain('No such file')
    expect((await at.run('cat ~/.cache/tool/entry')).output).toBe('one\n')
  })

  it('serve concurrent commands', async () => {
    const at = world(kind)
    put(at.home, real)
    const line = (name: string): string =>
      `cat ~/.cache/go-build/ab/entry; cd ~/.cache; for i in 1 2 3 4 5; do echo $i >${name}; mv ${name} to-${name}; cat to-${name}; sleep 0.1; done`
    const ran = await Promise.all(['a', 'b', 'c', 'd', 'e'].map((name) => at.run(line(name))))
    const numbers = '1\n2\n3\n4\n5\n'
    const expected = kind === 'overlay' ? `go${numbers}` : numbers
    const shown = (output: string): string => output.replace(/^.*No such file.*\n/, '')
    for (const { output, exitCode } of ran)
      expect({ output: shown(output), exitCode }).toEqual({ output: expected, exitCode: 0 })
    const slots = readdirSync(join(at.own(), 'slots')).toSorted()
    expect(slots).toEqual(kind === 'overlay' ? ['0', '1', '2', '3', '4'] : [])
  })

  it('are omitted if a command could reach their folder', async () => {
    const at = world(kind)
    const inside = new ToolCaches({
      folder: join(at.project, '.halting/caches'),
      project: at.project,
      home: at.home,
      directories: [at.project],
      path: '/usr/bin',
      bubblewrap: means?.file ?? '',
    })
    expect(inside.enter({})).toMatchObject({ mounts: [], env: {} })
    expect(existsSync(join(at.project, '.halting'))).toBe(false)
  })
})

describe.skipIf(means === undefined)('overlays of caches', () => {
  it('show the present caches of the person, including later changes', async () => {
    const at = world('overlay')
    put(at.home, real)
    const all = Object.keys(real)
    expect((await at.run(`cd ~ && cat ${all.join(' ')}`)).output).toBe(Object.values(real).join(''))
    await at.run('echo own >>~/.cache/pip/http/entry')
    put(at.home, { '.cache/go-build/ab/entry': 'newer', '.cache/go-build/cd/added': 'added' })
    rmSync(join(at.home, '.cache/ccache'), { recursive: true })
    rmSync(join(at.home, '.cache/pip'), { recursive: true })
    writeFileSync(join(at.home, '.cache/pip'), 'a file now')
    const { output } = await at.run('cd ~/.cache && cat go-build/ab/entry go-build/cd/added pip/http/entry; ls')
    expect(output).toBe('neweraddedpipown\ngo-build\npip\n')
  })

  it('release their slot when a command is killed', async () => {
    const at = world('overlay')
    await at.run('mkdir -p ~/.cache/tool')
    const killed = at.run('echo begun >~/.cache/tool/entry; kill -9 $$')
    expect((await killed).exitCode).toBe(137)
    expect((await at.run('cat ~/.cache/tool/entry')).output).toBe('begun\n')
    expect(readdirSync(join(at.own(), 'slots'))).toEqual(['0'])
  })

  it('set aside what was written shortly before a crash', async () => {
    const at = world('overlay')
    await at.run('mkdir -p ~/.cache/tool; echo kept >~/.cache/tool/entry')
    const lock = join(at.own(), 'slots/0/lock')
    const bootSeconds = Date.now() / 1_000 - Number(readFileSync('/proc/uptime', 'utf8').split(' ')[0])
    const long = bootSeconds - 7_200
    utimesSync(lock, long, long)
    expect((await at.run('cat ~/.cache/tool/entry')).output).toBe('kept\n')
    const short = bootSeconds - 60
    utimesSync(lock, short, short)
    expect((await at.run('cat ~/.cache/tool/entry')).output).toContain('No such file')
  })

  it('are omitted one by one if they cannot be mounted, and the next command runs', async () => {
    const at = world('overlay')
    put(at.home, real)
    await at.run('echo one >~/.cache/entry')
    rmSync(join(at.own(), 'at'), { recursive: true })
    expect(await at.run('echo ran')).toMatchObject({ exitCode: 126 })
    expect(await at.run('cat ~/.cache/entry ~/.cache/go-build/ab/entry')).toMatchObject({
      output: 'one\ngo',
      exitCode: 0,
    })
    // A slot that cannot be locked.
    rmSync(join(at.own(), 'slots/0/lock'))
    mkdirSync(join(at.own(), 'slots/0/lock'))
    for (const exitCode of [126, 0, 0]) expect(await at.run('echo ran')).toMatchObject({ exitCode })
  })

  it('change nothing of the person, and behave like copied folders', async () => {
    const at = world('overlay')
    const names = constantFrom('a', 'b', 'd', 'd/a', 'd/e', 'd/e/f', 'new', 'd/new')
    const step = oneof(
      tuple(constantFrom('echo x >', 'echo y >>', 'mkdir ', 'rm -rf ', 'chmod 700 ', 'touch '), names),
      tuple(
        constantFrom('mv -T ', 'cp ', 'ln -s ', 'ln '),
        tuple(names, names).map((pair) => pair.join(' ')),
      ),
    )
    const show = 'find . -printf "%P %y %m\\n" | grep -v "^ " | sort; grep -r . . 2>/dev/null | sort'
    await assert(
      asyncProperty(array(step, { minLength: 1, maxLength: 8 }), async (steps) => {
        const cache = join(at.home, '.cache/pip')
        const copy = join(at.project, 'copy')
        for (const folder of [cache, copy]) {
          rmSync(folder, { recursive: true, force: true })
          put(folder, { a: 'a\n', b: 'b\n', 'd/a': 'da\n', 'd/e/f': 'def\n' })
          for (const name of ['.', 'd', 'd/e', 'a']) utimesSync(join(folder, name), 1, 1)
        }
        rmSync(at.folder, { recursive: true, force: true })
        const before = snapshotOf(cache)
        const lines = steps.map((words) => words.join('')).join('; ')
        const line = `umask 022; (${lines}) 2>/dev/null; ${show}`
        const inCache = await at.run(`cd ~/.cache/pip; ${line}`)
        const inCopy = await at.run(`cd copy; ${line}`)
        expect(inCache.output).toBe(inCopy.output)
        expect(snapshotOf(cache)).toEqual(before)
        expect((await at.run(`cd ~/.cache/pip; ${show}`)).output).toBe(inCopy.output)
      }),
      { numRuns: isDeep ? 40 : 5 },
    )
  })
})

describe.skipIf(allMeans.length === 0 || means === undefined)('read-only commands', () => {
  it.each(allMeans)('do not see what confined commands wrote ($kind)', async (reading) => {
    const at = world('overlay')
    put(at.home, real)
    await at.run('echo poison >~/.cache/go-build/ab/entry')
    const written = join(at.own(), 'slots/0/data')
    const line = `grep -rs poison ~ ${at.folder} ${written}; echo done`
    const { output } = await runReading(line, { means: reading, cwd: at.project, home: at.home })
    expect(output).toBe('done\n')
  })
})

describe('places of caches', () => {
  const home = '/home/nobody-here'
  const options = { home, env: {}, directories: ['/work/project'], folder: `${home}/.halting/caches` }
  const paths = (more: Partial<typeof options> & { readonly env?: Record<string, string> }): readonly string[] =>
    cachePlaces({ ...options, ...more }).map(({ path }) => path)

  it('include the folder of caches and the existing caches of tools', () => {
    expect(paths({})).toEqual([`${home}/.cache`])
    const folder = temporaryFolder()
    for (const name of ['.cargo/registry', 'go/pkg/mod', 'other']) mkdirSync(join(folder, name), { recursive: true })
    symlinkSync(join(folder, 'other'), join(folder, '.npm'))
    const found = cachePlaces({ ...options, home: folder, folder: join(folder, '.halting/caches') })
    expect(
      found.map(({ path, real: end, isThere }) => [
        path.slice(folder.length + 1),
        isThere ? end.slice(folder.length + 1) : undefined,
      ]),
    ).toEqual([
      ['.cache', undefined],
      ['.npm', 'other'],
      ['.cargo/registry', '.cargo/registry'],
      ['go/pkg', 'go/pkg'],
    ])
  })

  it('follow variables', () => {
    const env = { XDG_CACHE_HOME: '/data/caches', GOCACHE: '/data/go/', CCACHE_DIR: 'relative' }
    expect(paths({ env })).toEqual([`${home}/.cache`, '/data/caches', '/data/go'])
    const [, inner] = cachePlaces({ ...options, env: { XDG_CACHE_HOME: '/data/caches', GOCACHE: '/data/caches/x/y' } })
    expect(inner?.shown).toContain('x')
  })

  it.each([
    '/',
    '/home',
    home,
    `${home}/.halting`,
    `${home}/.halting/caches/other`,
    '/work',
    '/work/project',
    '/work/project/.cache',
    '/tmp',
    '/tmp/cache',
    '/usr/share',
    '/etc',
    '/run/user/1000',
  ])('never include %s, whatever a variable says', (path) => {
    expect(paths({ env: { GOCACHE: path } })).toEqual([`${home}/.cache`])
  })

  it('exclude a project inside or around caches', () => {
    expect(paths({ directories: [`${home}/.cache/project`] })).toEqual([])
    expect(paths({ directories: [home] })).toEqual([])
  })
})

describe.skipIf(!existsSync(perl))('unused caches', () => {
  const days = (count: number): Date => new Date(Date.now() - count * 86_400_000)

  function project(folder: string, name: string, used: number, slots: readonly number[]): void {
    put(join(folder, name), { used: '', 'plain/x/entry': 'x' })
    for (const [index, at] of slots.entries()) {
      put(join(folder, name, `slots/${index}`), { lock: '', 'data/x.written/entry': 'x' })
      utimesSync(join(folder, name, `slots/${index}/lock`), days(at), days(at))
    }
    utimesSync(join(folder, name, 'used'), days(used), days(used))
  }

  async function until(isSo: () => boolean): Promise<void> {
    while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 20))
  }

  it('are removed after thirty days, extra slots earlier, and never during a command', async () => {
    const folder = temporaryFolder()
    project(folder, 'old', 31, [31, 31])
    project(folder, 'fresh', 29, [29, 2, 4])
    project(folder, 'running', 31, [31])
    mkdirSync(join(folder, 'fresh/slots/trash-1/x'), { recursive: true, mode: 0o500 })
    mkdirSync(join(folder, 'mine'))
    const holder = spawn(perl, [
      '-e',
      'open $l, "<", $ARGV[0]; flock $l, 2; print "held"; $| = 1; print "\n"; sleep 60',
      join(folder, 'running/slots/0/lock'),
    ])
    await new Promise((resolve) => holder.stdout.once('data', resolve))
    sweepCaches(folder, perl)
    await until(() => !existsSync(join(folder, 'old')) && !existsSync(join(folder, 'fresh/slots/2/data')))
    await until(
      () =>
        !readdirSync(folder).some((name) => name.startsWith('.trash')) &&
        !existsSync(join(folder, 'fresh/slots/trash-1')),
    )
    holder.kill('SIGKILL')
    expect(existsSync(join(folder, 'running/slots/0/data/x.written/entry'))).toBe(true)
    expect(readdirSync(folder).toSorted()).toEqual(['CACHEDIR.TAG', 'fresh', 'mine', 'running', 'swept'])
    expect(readdirSync(join(folder, 'fresh/slots')).toSorted()).toEqual(['0', '1', '2'])
    for (const slot of [0, 1]) expect(existsSync(join(folder, `fresh/slots/${slot}/data/x.written/entry`))).toBe(true)
    // Not again on the same day.
    project(folder, 'old', 31, [31])
    const mark = statSync(join(folder, 'swept')).mtimeMs
    sweepCaches(folder, perl)
    expect(statSync(join(folder, 'swept')).mtimeMs).toBe(mark)
  })
})
