// Holds rules of docs/spec: R-KEEP-1 to R-KEEP-4, R-RULE-10: large results are files of the session, which alone may be read without asking.
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import fs from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { dirname, join } from 'node:path'
import { createPermissions } from '@halting/policy'
import { createResultFiles, type ResultFiles, type ResultFilesOptions } from '@halting/journal'
import type { LargeResult } from '@halting/core/adapters'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { codingTools, temporaryFolder, toolNamed, projectName } from './support/harness.ts'

const session = '0b9d4a4e-1c2d-4e5f-8a9b-0c1d2e3f4a5b'
const never = new AbortController().signal

interface Place {
  readonly home: string
  readonly cwd: string
  readonly files: ResultFiles
}

function place(more: Partial<ResultFilesOptions> = {}): Place {
  const home = temporaryFolder()
  const cwd = temporaryFolder()
  return { home, cwd, files: createResultFiles({ cwd, home, env: {}, sessionId: session, ...more }) }
}

const result = (more: Partial<LargeResult> = {}): LargeResult => ({
  callId: 'toolu_1',
  toolName: 'Look',
  text: 'all of it\n',
  idempotencyKey: `${session}/run_1/save:1:0:toolu_1`,
  ...more,
})

const save = async (files: ResultFiles, more: Partial<LargeResult> = {}): Promise<string> =>
  files.save(result(more), { signal: never })

const modeOf = (path: string): string => (lstatSync(path).mode & 0o777).toString(8)

describe('a large result', () => {
  test('is a file of the session that only the user can read', async () => {
    const { home, cwd, files } = place()
    const path = await save(files)
    const folder = join(home, '.halting', 'projects', projectName(cwd), session, 'tool-results')
    expect([dirname(path), files.directory, readFileSync(path, 'utf8')]).toEqual([folder, folder, 'all of it\n'])
    expect(path.slice(folder.length)).toMatch(/^\/toolu_1-[0-9a-f]{12}\.txt$/)
    // No temporary file is left.
    expect(readdirSync(folder)).toHaveLength(1)
    expect([modeOf(path), modeOf(folder), modeOf(dirname(folder)), modeOf(join(home, '.halting'))]).toEqual([
      '600',
      '700',
      '700',
      '700',
    ])
  })

  test('is under HALTING_CONFIG_DIR where that is set', async () => {
    const config = join(temporaryFolder(), 'config')
    const { home, files } = place({ env: { HALTING_CONFIG_DIR: config } })
    expect((await save(files)).startsWith(join(config, 'projects/'))).toBe(true)
    expect(existsSync(join(home, '.halting'))).toBe(false)
  })

  test('is written again to the same file, and another result to another, even if ids are reused', async () => {
    const { files } = place()
    const first = await save(files)
    expect(await save(files)).toBe(first)
    const other = await save(files, { text: 'another', idempotencyKey: 'another step' })
    expect([other === first, readFileSync(first, 'utf8'), readdirSync(files.directory).length]).toEqual([
      false,
      'all of it\n',
      2,
    ])
  })

  test.each(['../../../escaped', '/etc/passwd', '..', '.', 'a/b', 'a\0b', '', 'é', '-rf', 'x'.repeat(500), 'CON\n'])(
    'stays in its folder whatever the id of the call: %j',
    async (callId) => {
      const { files } = place()
      const path = await save(files, { callId })
      expect([dirname(path), readFileSync(path, 'utf8')]).toEqual([files.directory, 'all of it\n'])
      expect(path.slice(files.directory.length + 1)).toMatch(/^[\w-]+\.txt$/)
    },
  )

  test.each(['../../..', '..', 'a/b'])('stays in its folder whatever the id of the session: %j', async (sessionId) => {
    const { home, files } = place({ sessionId })
    const path = await save(files)
    expect(path.startsWith(join(home, '.halting/projects/'))).toBe(true)
    expect(path.slice(join(home, '.halting/projects/').length).split('/')).toHaveLength(4)
  })

  test('is in a folder with a valid name, however deep the agent works', async () => {
    const { files } = place({ cwd: `/${'deep/'.repeat(100)}` })
    expect(readFileSync(await save(files), 'utf8')).toBe('all of it\n')
  })

  test('is not stored once the run is aborted, and leaves nothing', async () => {
    const { files } = place()
    const aborted = AbortSignal.abort()
    await expect(files.save(result(), { signal: aborted })).rejects.toThrow('aborted')
    expect(readdirSync(files.directory)).toEqual([])
  })
})

describe('a planted link', () => {
  test.each(['projects folder of the cwd', 'session', 'tool-results'])(
    'in place of the %s is not followed',
    async (which) => {
      const { files, cwd, home } = place()
      const target = temporaryFolder()
      const project = join(home, '.halting/projects', projectName(cwd))
      const path = { session: join(project, session), 'tool-results': files.directory }[which] ?? project
      mkdirSync(dirname(path), { recursive: true })
      symlinkSync(target, path)
      await expect(save(files)).rejects.toThrow(`${path} is not a folder of our own`)
      expect(readdirSync(target)).toEqual([])
    },
  )

  test('in place of the file is replaced, and its target stays', async () => {
    const { files } = place()
    const path = await save(files)
    const target = join(temporaryFolder(), 'precious')
    writeFileSync(target, 'precious')
    rmSync(path)
    symlinkSync(target, path)
    expect(await save(files)).toBe(path)
    expect([lstatSync(path).isSymbolicLink(), readFileSync(target, 'utf8')]).toEqual([false, 'precious'])
  })

  test("above the sessions is the user's own, and is followed", async () => {
    const elsewhere = temporaryFolder()
    const { home, files } = place()
    symlinkSync(elsewhere, join(home, '.halting'))
    expect(readFileSync(await save(files), 'utf8')).toBe('all of it\n')
    expect(readdirSync(elsewhere)).toEqual(['projects'])
  })
})

describe('there is a limit', () => {
  test('on the size of one file', async () => {
    const { files } = place({ keeps: { fileBytes: 9 } })
    await expect(save(files)).rejects.toThrow('it has 10 bytes, and a file may have 9')
  })

  test('on their number, including those of an earlier process; the same one may be written again', async () => {
    const { files, home, cwd } = place({ keeps: { files: 2 } })
    await save(files, { idempotencyKey: 'a' })
    await save(files, { idempotencyKey: 'b' })
    const again = createResultFiles({ home, cwd, env: {}, sessionId: session, keeps: { files: 2 } })
    for (const each of [files, again]) {
      await expect(save(each, { idempotencyKey: 'c' })).rejects.toThrow('keeps 2 results already, which is all it may')
      await save(each, { idempotencyKey: 'b' })
    }
  })

  test('on their total size', async () => {
    const { files } = place({ keeps: { totalBytes: 25 } })
    await save(files, { idempotencyKey: 'a' })
    await save(files, { idempotencyKey: 'b' })
    await expect(save(files, { idempotencyKey: 'c' })).rejects.toThrow('may keep 25 bytes of results')
  })

  test('also for concurrent results', async () => {
    const { files } = place({ keeps: { files: 2 } })
    const saves = ['a', 'b', 'c', 'd'].map((idempotencyKey) => save(files, { idempotencyKey }))
    const came = await Promise.allSettled(saves)
    expect(came.filter(({ status }) => status === 'fulfilled')).toHaveLength(2)
    expect(readdirSync(files.directory)).toHaveLength(2)
  })
})

describe('R-KEEP-3a and R-KEEP-4: a folder in which nothing can be stored', () => {
  test.runIf(existsSync('/proc'))('reports this, and the run does not wait for ever', async () => {
    const { files } = place({ home: '/proc/no-such-home' })
    await expect(save(files)).rejects.toThrow('ENOENT')
  })

  test('uses no room, and is tried again', async () => {
    const { files } = place({ keeps: { files: 1 } })
    const aborted = { signal: AbortSignal.abort() }
    for (const idempotencyKey of ['a', 'b'])
      await expect(files.save(result({ idempotencyKey }), aborted)).rejects.toThrow('aborted')
    await save(files, { idempotencyKey: 'c' })
    expect(readdirSync(files.directory)).toHaveLength(1)
  })

  test('on a disk that does not respond delays nothing beyond a limit, and later results not at all', async () => {
    const { files, home } = place({ timeoutMs: 500 })
    let free = (): void => {}
    const stuck = vi
      .spyOn(fs, 'lstat')
      .mockImplementation(() => new Promise((_, reject) => (free = () => reject(new Error('gone')))))
    // The mock applies to the whole process.
    const restore = (): void => {
      stuck.mockRestore()
      syncBuiltinESMExports()
    }
    onTestFinished(restore)
    syncBuiltinESMExports()
    await expect(save(files)).rejects.toThrow('its folder did not answer within 0.5 s')
    await expect(save(files)).rejects.toThrow('its folder did not answer')
    expect(stuck).toHaveBeenCalledTimes(1)
    restore()
    free()
    await vi.waitFor(() => save(files))
    expect(existsSync(join(home, '.halting'))).toBe(true)
  })
})

describe('the agent may read', () => {
  async function rules() {
    const { home, cwd, files } = place()
    const path = await save(files)
    const permissions = createPermissions({ cwd, readableFolders: files.readableFolders, mode: 'acceptEdits' })
    const { tools, use } = codingTools({}, { cwd })
    const decide = (name: string, input: object): string => {
      const tool = toolNamed(tools, name)
      const readOnly = typeof tool.readOnly === 'boolean' ? tool.readOnly : tool.readOnly(input as never)
      const decision = permissions.decide({ call: { type: 'tool_use', id: 'c', name, input }, tool, readOnly })
      if (decision instanceof Promise) throw new Error('rules decide at once')
      return decision.behavior
    }
    return { home, cwd, files, path, decide, use, permissions }
  }

  test('the results of this session: by Read, Grep, Glob and commands that only read', async () => {
    const { files, path, decide, use } = await rules()
    expect([
      decide('Read', { file_path: path }),
      decide('Grep', { pattern: 'all', path }),
      decide('Grep', { pattern: 'all', path: files.directory }),
      decide('Glob', { pattern: '*', path: files.directory }),
      decide('Bash', { command: `tail -n 5 ${path}` }),
    ]).toEqual(['allow', 'allow', 'allow', 'allow', 'allow'])
    expect((await use('Read', { file_path: path })).text).toContain('all of it')
    expect((await use('Grep', { pattern: 'all', path, output_mode: 'content' })).text).toContain('all of it')
  })

  test('does not include files next to them, even by a detour', async () => {
    const { home, files, decide } = await rules()
    const folder = files.directory
    const transcript = join(dirname(folder), 'session.jsonl')
    writeFileSync(transcript, 'secret')
    const outside = join(home, 'secret')
    writeFileSync(outside, 'secret')
    symlinkSync(outside, join(folder, 'planted.txt'))
    symlinkSync(home, join(folder, 'planted'))
    const paths = [
      dirname(folder),
      transcript,
      `${folder}/../session.jsonl`,
      `${folder}/../../other-session/tool-results/x.txt`,
      `${folder}-other/x.txt`,
      join(folder, 'planted.txt'),
      join(folder, 'planted/secret'),
      `${folder}/./../../../../../secret`,
    ]
    expect(paths.filter((path) => decide('Read', { file_path: path }) !== 'ask')).toEqual([])
    expect(paths.filter((path) => decide('Grep', { pattern: 'x', path }) !== 'ask')).toEqual([])
    expect(paths.filter((path) => decide('Bash', { command: `cat ${path}` }) !== 'ask')).toEqual([])
  })

  test('but not if the folder itself is a link, even before the session began', async () => {
    const { home, cwd, files } = place()
    const secrets = join(home, 'secrets')
    mkdirSync(secrets)
    writeFileSync(join(secrets, 'key'), 'secret')
    mkdirSync(dirname(files.directory), { recursive: true })
    symlinkSync(secrets, files.directory)
    const again = createResultFiles({ home, cwd, env: {}, sessionId: session })
    const permissions = createPermissions({ cwd, readableFolders: again.readableFolders })
    const tool = toolNamed(codingTools({}, { cwd }).tools, 'Read')
    const call = {
      type: 'tool_use',
      id: 'c',
      name: 'Read',
      input: { file_path: join(files.directory, 'key') },
    } as const
    expect(permissions.decide({ call, tool, readOnly: true })).toMatchObject({ behavior: 'ask' })
  })

  test('but not write them without asking, and a deny rule applies', async () => {
    const { home, cwd, files, path, decide } = await rules()
    expect([
      decide('Edit', { file_path: path, old_string: 'a', new_string: 'b' }),
      decide('Write', { file_path: join(files.directory, 'new'), content: '' }),
      decide('Bash', { command: `echo x > ${path}` }),
    ]).toEqual(['ask', 'ask', 'ask'])
    const within = createPermissions({ cwd, readableFolders: [join(cwd, 'config/results')], mode: 'acceptEdits' })
    const write = toolNamed(codingTools({}, { cwd }).tools, 'Write')
    const written = (path: string): string => {
      const input = { file_path: join(cwd, path), content: '' }
      const decided = within.decide({
        call: { type: 'tool_use', id: 'c', name: 'Write', input },
        tool: write,
        readOnly: false,
      })
      return 'behavior' in decided ? decided.behavior : 'later'
    }
    expect([written('config/results/x.txt'), written('config/other.txt')]).toEqual(['ask', 'allow'])
    const denying = createPermissions({ cwd, readableFolders: files.readableFolders, deny: [`Read(/${home}/**)`] })
    const tool = toolNamed(codingTools({}, { cwd }).tools, 'Read')
    const call = { type: 'tool_use', id: 'c', name: 'Read', input: { file_path: path } } as const
    expect(denying.decide({ call, tool, readOnly: true })).toMatchObject({ behavior: 'deny' })
  })
})
