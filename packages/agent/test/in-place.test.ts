// Files are opened as they were judged (spec R-PLACE-1 to R-PLACE-4): against a process that swaps a folder for a link meanwhile.
import { spawn, spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { createPermissions } from '@halting/policy'
import { FileCheckpoints, SessionFiles } from '@halting/agent'
import type { PermissionRequest } from '@halting/core'
import { describe, expect, onTestFinished, test } from 'vitest'
import { drawn } from './support/deep.ts'
import { codingTools, temporaryFolder, until } from './support/harness.ts'

const secret = 'the-secret'

interface Places {
  readonly project: string
  readonly outside: string
}

function places(): Places {
  const base = temporaryFolder()
  const [project, outside] = [join(base, 'project'), join(base, 'outside')]
  mkdirSync(join(project, 'a/deep'), { recursive: true })
  mkdirSync(join(outside, 'deep'), { recursive: true })
  for (const name of ['file', 'deep/file']) {
    writeFileSync(join(project, 'a', name), 'harmless\n')
    writeFileSync(join(outside, name), `${secret}\n`)
  }
  for (const [folder, source] of [
    [join(project, 'a'), 'harmless'],
    [outside, secret],
  ] as const) {
    const cell = { cell_type: 'code', id: 'c1', source, metadata: {}, outputs: [], execution_count: null }
    writeFileSync(
      join(folder, 'n.ipynb'),
      JSON.stringify({ cells: [cell], metadata: {}, nbformat: 4, nbformat_minor: 5 }),
    )
  }
  return { project, outside }
}

/** Swaps `project/a` for a link to `outside` and back, again and again. */
function swapping({ project, outside }: Places, times: number): { readonly ended: Promise<number> } {
  const script = `
    const fs = require('node:fs')
    const [a, b, outside, times] = process.argv.slice(1)
    // A Write may have made the folder anew in the moment in which it was not there.
    const free = (step) => { for (;;) try { return step() } catch { try { fs.rmSync(a, { recursive: true, force: true }) } catch {} } }
    for (let i = 0; i < Number(times); i += 1) {
      fs.renameSync(a, b); free(() => fs.symlinkSync(outside, a)); fs.unlinkSync(a); free(() => fs.renameSync(b, a))
    }`
  const child = spawn(process.execPath, ['-e', script, join(project, 'a'), join(project, 'b'), outside, String(times)])
  return { ended: new Promise((resolve) => child.once('exit', (code) => resolve(code ?? 1))) }
}

test('a folder that is swapped for a link while files are read, written and searched never redirects access to other files (R-PLACE-1)', async () => {
  const where = places()
  const file = join(where.project, 'a/deep/file')
  // The judged file is the one in the project, each time.
  const { use } = codingTools({}, { cwd: where.project, judged: () => file })
  await use('Read', { file_path: file })
  const swaps = swapping(where, drawn(10_000))
  const going = { on: true }
  const ended = swaps.ended.finally(() => {
    going.on = false
  })
  const seen = { read: 0, refused: 0 }
  while (going.on) {
    const results = await Promise.allSettled([
      use('Read', { file_path: file }),
      use('Write', { file_path: file, content: `harmless ${seen.read}\n` }),
      use('Edit', { file_path: file, old_string: 'harmless', new_string: 'harmless', replace_all: true }),
      use('Edit', { file_path: file, old_string: 'harmless', new_string: 'harmless still' }),
      use('Grep', { pattern: '.', path: file, output_mode: 'content' }),
    ])
    for (const one of results) {
      // While the folder is missing, the system reports that.
      const { text, isError } = one.status === 'fulfilled' ? one.value : { text: String(one.reason), isError: true }
      expect(text).not.toContain(secret)
      if (isError) seen.refused += 1
      else seen.read += 1
    }
  }
  expect(await ended).toBe(0)
  expect(readFileSync(join(where.outside, 'deep/file'), 'utf8')).toBe(`${secret}\n`)
  expect(spawnSync('ls', ['-A', join(where.outside, 'deep')], { encoding: 'utf8' }).stdout).toBe('file\n')
  expect(Math.min(seen.read, seen.refused)).toBeGreaterThan(0)
}, 120_000)

/** The only fields of a request that the rules use. */
function requestOf(name: string, input: object): PermissionRequest {
  const call = { type: 'tool_use', id: 'call_1', name, input }
  return {
    call,
    tool: undefined,
    readOnly: !/^(?:Write|Edit|NotebookEdit)$/.test(name),
  } as unknown as PermissionRequest
}

/** Swaps `project/a` for a link to `outside` and back atomically: at each moment it is one of them. */
function flipping({ project, outside }: Places): { readonly end: () => Promise<void> } {
  const script = [
    'import ctypes, os, sys',
    'a, b, outside = sys.argv[1:]',
    'libc = ctypes.CDLL(None, use_errno=True)',
    'os.symlink(outside, b)',
    'while True: libc.renameat2(-100, a.encode(), -100, b.encode(), 2)',
  ].join('\n')
  const child = spawn('python3', ['-c', script, join(project, 'a'), join(project, 'b'), outside])
  return {
    async end() {
      child.kill('SIGKILL')
      await new Promise((resolve) => child.once('exit', resolve))
    },
  }
}

const isPythonThere = process.platform === 'linux' && spawnSync('python3', ['--version']).status === 0

test.skipIf(!isPythonThere)(
  'opens what was judged while a folder flips between itself and a link out of the project (R-PLACE-1a)',
  async () => {
    const where = places()
    const flips = flipping(where)
    onTestFinished(flips.end)
    await until(() => existsSync(join(where.project, 'b')))
    const permissions = createPermissions({ cwd: where.project, mode: 'acceptEdits', deny: ['Read(/secret/**)'] })
    const { use } = codingTools({}, { cwd: where.project, judged: (callId) => permissions.judgedPath(callId) })
    const before = listed(where.outside)
    const seen = { asked: 0, refused: 0, done: 0, out: 0 }
    /** Like the loop. */
    const call = async (name: string, input: object): Promise<string> => {
      const request = requestOf(name, input)
      if (permissions.denies(request) !== undefined) return ''
      const decision = permissions.decide(request)
      if (!('behavior' in decision) || decision.behavior !== 'allow') {
        seen.asked += 1
        return ''
      }
      // Between the two, other calls run.
      if (seen.done % 3 === 0) await new Promise((resolve) => setImmediate(resolve))
      const { text, isError } = await use(name, input)
      if (isError) seen.refused += 1
      else seen.done += 1
      if (text.includes(secret)) seen.out += 1
      return text
    }
    for (let at = 0; at < drawn(2_000); at += 1) {
      await call('Write', { file_path: `a/new-${at}`, content: 'x\n' })
      await call('Write', { file_path: `a/made-${at}/deep/er`, content: 'x\n' })
      await call('Read', { file_path: 'a/file' })
      await call('Edit', { file_path: 'a/file', old_string: 'harmless', new_string: 'harmless', replace_all: true })
      await call('Edit', { file_path: 'a/deep/file', old_string: 'the-secret', new_string: 'gone' })
      await call('Read', { file_path: 'a/n.ipynb' })
      await call('NotebookEdit', { notebook_path: 'a/n.ipynb', cell_id: 'c1', new_source: `harmless ${at}` })
      if (at % 20 === 0) await call('Grep', { path: 'a', pattern: '.', output_mode: 'content' })
      if (at % 20 === 0) await call('Glob', { path: 'a', pattern: 'outside*' })
    }
    expect(seen.out).toBe(0)
    expect(listed(where.outside)).toBe(before)
    expect(Math.min(seen.asked, seen.refused, seen.done)).toBeGreaterThan(0)
  },
  600_000,
)

test.skipIf(!isPythonThere)(
  'restores into the original folder, and stores nothing from elsewhere, while that folder flips (R-PLACE-6)',
  async () => {
    const where = places()
    const folder = temporaryFolder()
    const checkpoints = new FileCheckpoints({ folder, cwd: where.project })
    const { use } = codingTools({}, { cwd: where.project, checkpoints })
    await use('Read', { file_path: 'a/file' })
    await use('Edit', { file_path: 'a/file', old_string: 'harmless', new_string: 'changed' })
    await use('Write', { file_path: 'a/new', content: 'new\n' })
    await use('Write', { file_path: 'a/made/deep/er', content: 'new\n' })
    await use('Bash', { command: 'ln -s file a/link; mkdir a/empty; rm a/deep/file; echo x > a/deep/other' })
    const flips = flipping(where)
    onTestFinished(flips.end)
    await until(() => existsSync(join(where.project, 'b')))
    const before = listed(where.outside)
    const files = new SessionFiles(folder)
    const other = temporaryFolder()
    const looking = new FileCheckpoints({ folder: other, cwd: where.project })
    const counts = { done: 0, left: 0 }
    for (let at = 0; at < drawn(1_000); at += 1) {
      const plan = await files.plan({ kind: at % 2 === 0 ? 'undo' : 'redo' })
      if (plan === undefined) continue
      const left = await files.apply(plan)
      counts.left += left.length + plan.left.length
      counts.done += plan.changes.length - left.length
      // What the tools are about to change is checked in the same way.
      await looking.around(
        { callId: `c${at}`, toolName: 'Write', idempotencyKey: `s/run2/tool:${at}:0:c${at}` },
        join(where.project, 'a/file'),
        { content: Buffer.from(String(at)), mode: undefined },
        async () => undefined,
      )
    }
    expect(listed(where.outside)).toBe(before)
    expect(spawnSync('grep', ['-r', secret, folder, other]).status).toBe(1)
    expect(Math.min(counts.done, counts.left)).toBeGreaterThan(0)
  },
  600_000,
)

/** Every name below a folder, with its content. */
function listed(folder: string): string {
  return spawnSync('sh', ['-c', 'find . -printf "%P %y %i\n" | sort; find . -type f -exec cat {} +'], {
    cwd: folder,
    encoding: 'utf8',
  }).stdout
}

describe('Between the judgement and the call (R-PLACE-2)', () => {
  test.each([
    ['Read', {}],
    ['Write', { content: 'x' }],
    ['Edit', { old_string: 'a', new_string: 'b' }],
    ['Grep', { pattern: '.' }],
    ['Glob', { pattern: '*' }],
  ])('%s rejects a path that leads elsewhere at the time of the call', async (name, input) => {
    const where = places()
    const permissions = createPermissions({ cwd: where.project, mode: 'acceptEdits' })
    const { use } = codingTools({}, { cwd: where.project, judged: (callId) => permissions.judgedPath(callId) })
    const target = name === 'Glob' ? join(where.project, 'a') : join(where.project, 'a/file')
    const call = { type: 'tool_use', id: 'call_1', name, input: { file_path: target, path: target, ...input } } as const
    // The only fields of a request that the rules use.
    const request = {
      call,
      tool: undefined,
      readOnly: name !== 'Write' && name !== 'Edit',
    } as unknown as PermissionRequest
    expect(permissions.decide(request)).toEqual({ behavior: 'allow' })
    renameSync(join(where.project, 'a'), join(where.project, 'b'))
    symlinkSync(where.outside, join(where.project, 'a'))
    const paths = name === 'Grep' || name === 'Glob' ? { path: target } : { file_path: target }
    const { text, isError } = await use(name, { ...paths, ...input })
    expect({ text, isError }).toEqual({
      text: `${target} has become a link, or leads elsewhere, since the permission check. It was not opened.`,
      isError: true,
    })
  })
})

describe('The file at a path', () => {
  test('a link that existed when it was judged is followed to the judged target', async () => {
    const where = places()
    symlinkSync(join(where.project, 'a/file'), join(where.project, 'link'))
    const { use } = codingTools({}, { cwd: where.project })
    expect((await use('Read', { file_path: 'link' })).text).toContain('harmless')
  })

  test('a pipe and a device are opened by no tool (R-PLACE-3)', async () => {
    const where = places()
    spawnSync('mkfifo', [join(where.project, 'pipe')])
    const { use } = codingTools({}, { cwd: where.project })
    const outcomes = await Promise.all([
      use('Read', { file_path: 'pipe' }),
      use('Read', { file_path: '/dev/zero' }),
      use('Write', { file_path: 'pipe', content: 'x' }),
      use('Edit', { file_path: 'pipe', old_string: 'a', new_string: 'b' }),
      use('Grep', { path: 'pipe', pattern: 'x' }),
    ])
    expect(outcomes.map(({ isError }) => isError)).toEqual([true, true, true, true, true])
  })

  test('a hard link is read, and a write replaces it and leaves the other name (R-PLACE-4)', async () => {
    const where = places()
    linkSync(join(where.outside, 'file'), join(where.project, 'hard'))
    const { use } = codingTools({}, { cwd: where.project })
    expect((await use('Read', { file_path: 'hard' })).text).toContain(secret)
    expect((await use('Write', { file_path: 'hard', content: 'mine\n' })).isError).toBe(false)
    expect(readFileSync(join(where.outside, 'file'), 'utf8')).toBe(`${secret}\n`)
    expect(readFileSync(join(where.project, 'hard'), 'utf8')).toBe('mine\n')
  })

  test('parent folders that can be searched but not listed are accepted', async () => {
    const where = places()
    chmodSync(join(where.project, 'a'), 0o311)
    const { use } = codingTools({}, { cwd: where.project })
    expect((await use('Read', { file_path: 'a/deep/file' })).text).toContain('harmless')
    expect((await use('Write', { file_path: 'a/new/er/file', content: 'x' })).isError).toBe(false)
    chmodSync(join(where.project, 'a'), 0o755)
    expect(existsSync(join(where.project, 'a/new/er/file'))).toBe(true)
  })

  test('system errors name the path, not a descriptor', async () => {
    const where = places()
    const { use } = codingTools({}, { cwd: where.project })
    const { text } = await use('Read', { file_path: 'nothing/here' })
    expect(text).toContain(`${join(where.project, 'nothing/here')} does not exist`)
  })
})
