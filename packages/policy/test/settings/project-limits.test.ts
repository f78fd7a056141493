// Holds R-CALIB-9 to R-CALIB-9b of docs/spec.
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { execFileSync } from 'node:child_process'
import { expect, onTestFinished, test, vi } from 'vitest'
import { realPath } from '@halting/journal/files'
import { loadSettings } from '../../src/settings/settings.ts'
import { saveProjectLimits } from '../../src/settings/project-limits.ts'

function place() {
  const base = join(homedir(), '.cache/halting-tests')
  mkdirSync(base, { recursive: true })
  const root = realPath(mkdtempSync(join(base, 'limits-')))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  const [cwd, home, managed] = [join(root, 'project'), join(root, 'home'), join(root, 'managed')]
  for (const folder of [cwd, home, managed]) mkdirSync(folder)
  const options = { cwd, home, env: {}, managedFolders: [managed] }
  const path = join(cwd, '.halting', 'settings.local.json')
  const write = (file: string, text: string): void => {
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
  }
  return { root, cwd, home, managed, options, path, write }
}

const limits = { maxRunUsd: 1.2, maxTokens: 1_300_000, maxDuration: '13m', maxTurns: 41 }

test('saved limits apply in the project from then on', async () => {
  const { options, path } = place()
  const saved = await saveProjectLimits(limits, options)
  expect(saved).toEqual({
    path,
    limits: [
      { name: 'maxRunUsd', value: 1.2 },
      { name: 'maxTokens', value: 1_300_000 },
      { name: 'maxDuration', value: '13m' },
      { name: 'maxTurns', value: 41 },
    ],
  })
  const { settings, ignored } = await loadSettings(options)
  expect(settings.limits).toEqual({ ...limits, maxDuration: 780_000 })
  expect(ignored).toEqual([])
})

test('the rest of the file remains as written, and the previous value is reported', async () => {
  const { options, path, write } = place()
  write(
    path,
    '{\n    "model": "a",\n\n    "limits": { "maxTurns": 500, "maxToolCalls": 7 },\n    "env": {"A":  "b"}\n}\n',
  )
  const { limits: saved } = await saveProjectLimits({ maxTurns: 41, maxRunUsd: 2 }, options)
  expect(saved).toEqual([
    { name: 'maxRunUsd', value: 2 },
    { name: 'maxTurns', value: 41, before: 500 },
  ])
  const text = readFileSync(path, 'utf8')
  expect(JSON.parse(text)).toEqual({
    model: 'a',
    limits: { maxTurns: 41, maxToolCalls: 7, maxRunUsd: 2 },
    env: { A: 'b' },
  })
  expect(text).toContain('"env": {"A":  "b"}\n}\n')
  expect(text.startsWith('{\n    "model": "a",\n\n    "limits": {')).toBe(true)
})

test('a limit is not written if the administrator, the person or a default has a lower one, and nothing is raised', async () => {
  const { options, managed, home, path, write } = place()
  write(join(managed, 'managed-settings.json'), '{"limits": {"maxTurns": 30}}')
  write(join(home, '.halting', 'settings.json'), '{"limits": {"maxDuration": "10m"}}')
  const defaultLimits = { maxRunUsd: { value: 1, from: 'the default of -p' } }
  const { limits: saved } = await saveProjectLimits(limits, { ...options, defaultLimits })
  expect(saved).toEqual([
    { name: 'maxRunUsd', value: 1.2, notWritten: 'a project cannot raise a limit (1, from the default of -p)' },
    { name: 'maxTokens', value: 1_300_000 },
    {
      name: 'maxDuration',
      value: '13m',
      notWritten: expect.stringMatching(/cannot raise a limit \(10m, from .*settings\.json\)/),
    },
    {
      name: 'maxTurns',
      value: 41,
      notWritten: expect.stringMatching(/cannot raise a limit \(30, from .*managed-settings\.json\)/),
    },
  ])
  expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual({ limits: { maxTokens: 1_300_000 } })
  const { settings, ignored } = await loadSettings({ ...options, defaultLimits })
  expect(settings.limits).toEqual({ maxTurns: 30, maxDuration: 600_000, maxTokens: 1_300_000 })
  expect(ignored).toEqual([])
})

test.each(['.halting/settings.json', '.claude/settings.json', '.claude/settings.local.json'])(
  'a limit is not written if %s of the project has a lower one',
  async (other) => {
    const { options, cwd, path, write } = place()
    write(join(cwd, other), '{"limits": {"maxTurns": 3, "maxTokens": 9000000}}')
    write(path, '{"limits": {"maxTurns": 2}}')
    const { limits: saved } = await saveProjectLimits({ maxTokens: 1_300_000, maxTurns: 41 }, options)
    expect(saved).toEqual([
      { name: 'maxTokens', value: 1_300_000 },
      { name: 'maxTurns', value: 41, before: 2, notWritten: `a lower limit applies (3, from ${join(cwd, other)})` },
    ])
    expect((await loadSettings(options)).settings.limits).toEqual({ maxTurns: 2, maxTokens: 1_300_000 })
  },
)

test.each([
  ['{ "limits": { "maxTurns": 5, "maxTurn": 4 } }', /unknown setting limits\.maxTurn\. .* Nothing was changed/],
  ['{ "limits": { "maxTurns": 5 }, "limits": { "maxTurns": 4 } }', /"limits" appears twice .* Nothing was changed/],
  ['{ "limits": { "maxToolCalls": -1 } }', /limits\.maxToolCalls must be .* Nothing was changed/],
])('nothing is written next to %j, which prevents a run from starting', async (text, message) => {
  const { options, path, write } = place()
  write(path, text)
  await expect(saveProjectLimits(limits, options)).rejects.toThrow(message)
  expect(readFileSync(path, 'utf8')).toBe(text)
})

test('no file is created if no limit would apply', async () => {
  const { options, home, path, write } = place()
  write(join(home, '.halting', 'settings.json'), '{"limits": {"maxTurns": 5}}')
  await saveProjectLimits({ maxTurns: 41 }, options)
  expect(existsSync(path)).toBe(false)
})

test.each([
  ['{ "limits": ', /does not contain a JSON object\. Nothing was changed; fix or delete the file/],
  ['// mine\n{ "model": "a" }', /comments are not allowed/],
  ['[1]', /does not contain a JSON object/],
  ['{ "limits": [] }', /limits in .* is not an object\. Nothing was changed/],
])('%j remains unchanged', async (text, message) => {
  const { options, path, write } = place()
  write(path, text)
  await expect(saveProjectLimits(limits, options)).rejects.toThrow(message)
  expect(readFileSync(path, 'utf8')).toBe(text)
})

test('a link out of the project is not followed, and one inside it remains a link', async () => {
  const { options, root, cwd, path, write } = place()
  const outside = join(root, 'outside.json')
  write(outside, '{"model": "a"}')
  mkdirSync(dirname(path))
  symlinkSync(outside, path)
  await expect(saveProjectLimits(limits, options)).rejects.toThrow(/a link to a file outside the project/)
  expect(readFileSync(outside, 'utf8')).toBe('{"model": "a"}')
  rmSync(path)
  write(join(cwd, 'mine.json'), '{"model": "a"}')
  symlinkSync('../mine.json', path)
  await saveProjectLimits({ maxTurns: 4 }, options)
  expect(lstatSync(path).isSymbolicLink()).toBe(true)
  expect(JSON.parse(readFileSync(join(cwd, 'mine.json'), 'utf8'))).toEqual({ model: 'a', limits: { maxTurns: 4 } })
})

test('the mode of the file remains, even if it is read-only', async () => {
  const { options, path, write } = place()
  write(path, '{}')
  execFileSync('chmod', ['444', path])
  await saveProjectLimits({ maxTurns: 4 }, options)
  expect(statSync(path).mode & 0o777).toBe(0o444)
  expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual({ limits: { maxTurns: 4 } })
})

test.skipIf(process.getuid?.() !== 0)('a file of another user that root changes keeps its owner', async () => {
  const { options, path, write } = place()
  write(path, '{}')
  chmodSync(path, 0o640)
  chownSync(path, 12_345, 12_346)
  await saveProjectLimits({ maxTurns: 4 }, options)
  const { uid, gid, mode } = statSync(path)
  expect({ uid, gid, mode: mode & 0o777 }).toEqual({ uid: 12_345, gid: 12_346, mode: 0o640 })
  expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual({ limits: { maxTurns: 4 } })
})

test.skipIf(process.getuid?.() !== 0)(
  'a file of another user is not changed if its owner could not be restored',
  async () => {
    const { options, path, write } = place()
    write(path, '{}')
    chownSync(path, 12_345, 12_346)
    vi.spyOn(process, 'getuid').mockReturnValue(12_347)
    onTestFinished(() => void vi.restoreAllMocks())
    await expect(saveProjectLimits({ maxTurns: 4 }, options)).rejects.toThrow(
      /settings\.local\.json belongs to another user \(12345\)\. Nothing was changed\.$/,
    )
    expect(readFileSync(path, 'utf8')).toBe('{}')
  },
)

test('the error says so if no folder can be created, and nothing is changed', async () => {
  const { options, cwd, write } = place()
  write(join(cwd, '.halting'), 'a file')
  await expect(saveProjectLimits(limits, options)).rejects.toThrow(/settings\.local\.json cannot be written/)
  expect(readFileSync(join(cwd, '.halting'), 'utf8')).toBe('a file')
})

test('the home folder is not a project', async () => {
  const { options, home } = place()
  await expect(saveProjectLimits(limits, { ...options, cwd: home })).rejects.toThrow(/home folder is not a project/)
})

test('git does not list the file', async () => {
  const { options, cwd } = place()
  execFileSync('git', ['init', '-q'], { cwd })
  await saveProjectLimits(limits, options)
  expect(execFileSync('git', ['status', '--short'], { cwd, encoding: 'utf8' })).toBe('')
})

test('two concurrent changes keep the limits of both', async () => {
  const { options, path } = place()
  await Promise.all([saveProjectLimits({ maxTurns: 4 }, options), saveProjectLimits({ maxTokens: 5 }, options)])
  expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual({ limits: { maxTurns: 4, maxTokens: 5 } })
})
