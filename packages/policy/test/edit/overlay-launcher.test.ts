// Spec R-CACHE-1.
import { spawn, spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { findProgram } from '../../src/sandbox/find-bubblewrap.ts'
import { detectOverlays, type Overlay, overlayCommand } from '../../src/sandbox/overlay-launcher.ts'
import { notConfinedCode, notConfinedMark } from '../../src/sandbox/wall-means.ts'
import { isRoot, nobody } from '../confine/support.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const path = '/usr/bin:/bin'
const bubblewrap = findProgram('bwrap', path, []) ?? 'bwrap'
const probe = mkdtempSync(join(tmpdir(), 'overlay-probe-'))
const means = detectOverlays({ path, writable: [], bubblewrap, folder: probe })
rmSync(probe, { recursive: true, force: true })
const perl = means.kind === 'overlay' ? means.perl : ''

/** A folder with `lower/known/file`, `lower/.secret`, `lower/deep/token`, and a mount point for an overlay of it. */
function world(name = ''): { readonly root: string; readonly overlay: Overlay; readonly at: string } {
  const root = temporaryFolder()
  const own = join(root, `own${name}`)
  const places = { lower: join(own, 'lower'), upper: join(own, 'upper'), work: join(own, 'work'), at: join(own, 'at') }
  for (const folder of ['known', 'deep']) mkdirSync(join(places.lower, folder), { recursive: true })
  mkdirSync(places.at)
  for (const file of ['known/file', '.secret', 'deep/token', 'deep/other'])
    writeFileSync(join(places.lower, file), file)
  return { root, overlay: { ...places, lower: [places.lower] }, at: places.at }
}

const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`

function run(
  line: string,
  overlay: Overlay,
  options: { readonly slots?: string; readonly user?: number; readonly env?: Record<string, string> } = {},
) {
  const { slots, user, env } = options
  const sandbox = ['--unshare-all', '--unshare-user', '--cap-drop', 'ALL', '--die-with-parent', '--ro-bind', '/', '/']
  const plain = {
    file: bubblewrap,
    args: [...sandbox, '--bind', overlay.at, overlay.at, '--proc', '/proc', '--dev', '/dev', 'sh', '-c', line],
    directory: '/',
    env: { PATH: path, PERL5OPT: '-Mnothing', ...env },
  }
  const command = overlayCommand(plain, [overlay], { perl, ...(slots !== undefined && { slots }) })
  if (command === undefined) throw new Error('No numbers of this machine.')
  return spawnSync(command.file, command.args, {
    env: command.env,
    encoding: 'utf8',
    cwd: '/',
    timeout: 10_000,
    ...(user !== undefined && { uid: user, gid: user }),
  })
}

describe.skipIf(means.kind === 'none')('the launcher of overlays', () => {
  it('shows the lower folder and redirects writes', () => {
    const { overlay, at } = world()
    const { stdout, stderr, status } = run(
      `cd ${at} && cat known/file && echo new >made && rm .secret && ls -A`,
      overlay,
    )
    expect({ stdout, stderr, status }).toEqual({ stdout: 'known/filedeep\nknown\nmade\n', stderr: '', status: 0 })
    expect(readdirSync(overlay.lower[0] ?? '').toSorted()).toEqual(['.secret', 'deep', 'known'])
    expect(readFileSync(join(overlay.upper, 'made'), 'utf8')).toBe('new\n')
    expect(readdirSync(at)).toEqual([])
  })

  it.each(['with,comma', 'with:colon', 'with\\back', 'with space=', 'lowerdir=x', 'ü\n', "'$(id)"])(
    'mounts in folders whose names are %j',
    (name) => {
      const { overlay, at } = world(name)
      const { stdout, status } = run(`cat ${quoted(at)}/known/file`, overlay)
      expect({ stdout, status }).toEqual({ stdout: 'known/file', status: 0 })
    },
  )

  it('passes perl variables to the command without obeying them', () => {
    const { overlay } = world()
    expect(run('echo "$PERL5OPT ${PERL_BADLANG-none} ${LC_ALL-none}"', overlay).stdout).toBe('-Mnothing none none\n')
  })

  it.each(['C.UTF-8', 'xx_XX=y', ''])(
    'passes the language %j to the command, without a warning of perl',
    (language) => {
      const { overlay } = world()
      const { stdout, stderr } = run('echo "<${LC_ALL-none}>"', overlay, { env: { LC_ALL: language } })
      expect({ stdout, stderr: stderr.replaceAll(/^.*setlocale.*\n/gm, '') }).toEqual({
        stdout: `<${language}>\n`,
        stderr: '',
      })
    },
  )

  it('hides names, paths, and everything that is not listed', () => {
    const { overlay, at } = world()
    const hidden = ['.secret', 'deep/token', 'absent', 'absent/deeper']
    expect(run(`cd ${at}; find . | sort; cat .secret deep/token`, { ...overlay, hidden })).toMatchObject({
      stdout: '.\n./deep\n./deep/other\n./known\n./known/file\n',
      status: 1,
    })
    const listed = run(`cd ${at}; ls -A; mkdir deep && ls -A deep; rm -rf deep; ls -A`, {
      ...overlay,
      shown: ['known'],
    })
    expect(listed).toMatchObject({ stdout: 'known\nknown\n', stderr: '', status: 0 })
  })

  it('shows no external folder in the mount table that the command can read', () => {
    const { overlay } = world()
    const { stdout } = run('grep overlay /proc/self/mountinfo', overlay)
    expect(stdout).toContain('userxattr')
    expect(stdout).not.toContain('upper/')
    expect(stdout).not.toContain(overlay.upper)
  })

  it('starts nothing if an overlay cannot be mounted', () => {
    const { overlay } = world()
    for (const broken of [{ lower: ['/not/there'] }, { at: '/not/there' }, { upper: '/proc/upper' }]) {
      const { status, stderr, stdout } = run('echo ran', { ...overlay, ...broken })
      expect({ status, stdout }).toEqual({ status: notConfinedCode, stdout: '' })
      expect(stderr).toContain(notConfinedMark)
    }
  })

  it.skipIf(!isRoot)('works repeatedly in one slot for a user who is not root', () => {
    const { root, overlay, at } = world()
    const slots = join(root, 'slots')
    mkdirSync(slots)
    for (const name of ['', ...readdirSync(root, { recursive: true, encoding: 'utf8' })])
      chownSync(join(root, name), nobody, nobody)
    chmodSync(root, 0o755)
    const named = { ...overlay, upper: 'written', work: 'work', folders: ['made/deep'], hidden: ['.secret'] }
    const line = `cd ${at} && id -u && rm -r deep; mkdir deep; echo x >>made/deep/count; wc -l <made/deep/count; ls -A`
    for (const count of [1, 2, 3]) {
      const { stdout, status } = run(line, named, { slots, user: nobody })
      expect({ stdout, status }).toEqual({ stdout: `65534\n${count}\ndeep\nknown\nmade\n`, status: 0 })
    }
    expect(existsSync(join(overlay.lower[0] ?? '', 'deep/token'))).toBe(true)
    expect(readdirSync(slots)).toEqual(['0'])
  })

  it('waits for the slot of a sandbox that is about to end, and creates another one if it continues', () => {
    const { root, overlay } = world()
    const slots = join(root, 'slots')
    mkdirSync(join(slots, '0'), { recursive: true })
    const named = { ...overlay, upper: 'written', work: 'work', folders: ['made'] }
    const hold = (seconds: number) => {
      const taken = join(root, `taken-${seconds}`)
      const program =
        'open F, ">>", $ARGV[0]; flock F, 2; open T, ">", $ARGV[1]; close T; select undef, undef, undef, $ARGV[2]'
      const holder = spawn(perl, ['-e', program, join(slots, '0/lock'), taken, String(seconds)], { stdio: 'ignore' })
      while (!existsSync(taken)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5)
      return holder
    }
    hold(0.1)
    expect(run('echo ran', named, { slots }).stdout).toBe('ran\n')
    expect(readdirSync(slots)).toEqual(['0'])
    const holder = hold(60)
    expect(run('echo ran', named, { slots }).stdout).toBe('ran\n')
    expect(readdirSync(slots)).toEqual(['0', '1'])
    holder.kill('SIGKILL')
  })

  it('starts nothing if a link leads to a folder that the command would get', () => {
    const { overlay, at } = world()
    symlinkSync('known', join(overlay.lower[0] ?? '', 'link'))
    expect(run(`ls ${at}/link`, { ...overlay, folders: ['link/below'] })).toMatchObject({
      status: notConfinedCode,
      stdout: '',
    })
  })
})

describe('detection of overlays', () => {
  it('says why overlays are unavailable', () => {
    const folder = temporaryFolder()
    const options = { path: '/nowhere', writable: ['/usr'], bubblewrap, folder }
    expect(detectOverlays(options)).toEqual({ kind: 'none', why: 'perl, which mounts overlays, is missing' })
    expect(detectOverlays({ ...options, path, writable: [], bubblewrap: '/bin/false' })).toMatchObject({ kind: 'none' })
    expect(detectOverlays({ path, writable: [], bubblewrap, folder: '/dev/null/none' })).toMatchObject({ kind: 'none' })
  })

  it.skipIf(means.kind === 'none')('remembers that overlays work, and leaves nothing else behind', () => {
    const folder = temporaryFolder()
    const memory = join(folder, 'memory.json')
    const options = { path, writable: [], bubblewrap, folder: join(folder, 'uppers'), memory }
    expect(detectOverlays(options)).toEqual(means)
    const stored = readFileSync(memory, 'utf8')
    expect(detectOverlays(options)).toEqual(means)
    expect(readFileSync(memory, 'utf8')).toBe(stored)
    expect(readdirSync(join(folder, 'uppers'))).toEqual([])
  })
})
