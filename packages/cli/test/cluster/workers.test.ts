// Holds rules of docs/spec: R-WORK-1, R-WORK-1a, R-WORK-2, R-WORK-2a, R-WORK-3, R-WORK-5
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Session } from '@halting/core/session'
import { ConfigurationError, type SettingsChange } from '@halting/core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { flagsWithOpening, parseOpening } from '../../src/cluster/session-opening.ts'
import { withinWorkerLimits } from '../../src/cluster/worker-sessions.ts'
import { Workspaces } from '../../src/cluster/workspaces.ts'

let folder = ''
beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'halting-workers-')))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('copies the template into the folder of a new session, and keeps the folder', async () => {
  const template = join(folder, 'template')
  mkdirSync(template)
  writeFileSync(join(template, 'a.txt'), 'as it was')
  const workspaces = new Workspaces({ base: join(folder, 'base'), template })
  const own = await workspaces.folderFor({ sessionId: 's-1', isNew: true })
  expect(own).toBe(join(folder, 'base', 's-1'))
  writeFileSync(join(own, 'a.txt'), 'changed')
  expect(await workspaces.folderFor({ sessionId: 's-1', isNew: true })).toBe(own)
  expect(await workspaces.folderFor({ sessionId: 's-1', isNew: false })).toBe(own)
  expect(readFileSync(join(own, 'a.txt'), 'utf8')).toBe('changed')
  expect(readFileSync(join(template, 'a.txt'), 'utf8')).toBe('as it was')
})

test('copies the folder when a session is copied, and leaves sessions with folders elsewhere to other workers', async () => {
  const workspaces = new Workspaces({ base: join(folder, 'copies') })
  const own = await workspaces.folderFor({ sessionId: 's-1', isNew: true })
  writeFileSync(join(own, 'notes.txt'), 'kept')
  const copy = await workspaces.folderFor({ sessionId: 's-2', isNew: false, forkedFrom: 's-1' })
  writeFileSync(join(own, 'notes.txt'), 'changed')
  expect(copy).not.toBe(own)
  expect(readFileSync(join(copy, 'notes.txt'), 'utf8')).toBe('kept')
  await expect(workspaces.folderFor({ sessionId: 's-3', isNew: false, forkedFrom: 's-9' })).rejects.toThrow(
    'is not on this machine',
  )
})

test('keeps the folder of a session whose ID is a path inside the allowed folder', async () => {
  const base = join(folder, 'ids')
  const own = await new Workspaces({ base }).folderFor({ sessionId: '../../etc', isNew: true })
  expect(own).toMatch(new RegExp(`^${base}/named\\.[0-9a-f]{32}$`))
})

test("never shares a folder between sessions, whatever their IDs and the file system's rules", async () => {
  const base = join(folder, 'apart')
  const workspaces = new Workspaces({ base })
  const nameOf = async (sessionId: string): Promise<string> =>
    (await workspaces.folderFor({ sessionId, isNew: true })).slice(base.length + 1)
  const hostile = await nameOf('a/b')
  const names = [
    hostile,
    await nameOf(hostile),
    await nameOf('ABC'),
    await nameOf('abc'),
    await nameOf('a'.repeat(500)),
  ]
  expect(new Set(names.map((name) => name.toLowerCase())).size).toBe(names.length)
})

test('leaves a session whose folder is not here to another worker', async () => {
  const workspaces = new Workspaces({ base: join(folder, 'elsewhere') })
  await expect(workspaces.folderFor({ sessionId: 's-2', isNew: false })).rejects.toThrow('is not on this machine')
})

test('R-LOST-3: can continue a session whose folder is here or is created when it opens', async () => {
  const base = join(folder, 'has')
  const workspaces = new Workspaces({ base })
  await workspaces.folderFor({ sessionId: 's-1', isNew: true })
  expect(await workspaces.has({ sessionId: 's-1', isNew: false })).toBe(true)
  expect(await workspaces.has({ sessionId: 's-2', isNew: false })).toBe(false)
  expect(await workspaces.has({ sessionId: 's-2', isNew: true })).toBe(true)
  expect(await workspaces.has({ sessionId: 's-3', isNew: false, forkedFrom: 's-1' })).toBe(true)
  expect(await workspaces.has({ sessionId: 's-1', isNew: false, folder: 'project' })).toBe(false)
})

test('lets a session name a folder below the allowed one, and no other', async () => {
  const allowed = join(folder, 'allowed')
  mkdirSync(join(allowed, 'project'), { recursive: true })
  mkdirSync(join(folder, 'allowed-too'))
  symlinkSync(folder, join(allowed, 'out'))
  const base = join(folder, 'base')
  const workspaces = new Workspaces({ base, allowed })
  const named = (name: string) => workspaces.folderFor({ sessionId: 's', isNew: true, folder: name })
  expect(await named('project')).toBe(join(allowed, 'project'))
  for (const name of ['..', '../allowed-too', 'out', join(folder, 'base'), 'not there'])
    await expect(named(name)).rejects.toThrow('not below')
  await expect(new Workspaces({ base }).folderFor({ sessionId: 's', isNew: true, folder: 'x' })).rejects.toThrow(
    '--folders',
  )
})

test('lets a request that opens a session lower the limits of the worker, but never raise them', () => {
  const flags = { maxTurns: 10, script: 'x' }
  expect(flagsWithOpening(flags, { maxTurns: 20, maxBudgetUsd: 1, model: 'other' })).toEqual({
    ...flags,
    maxBudgetUsd: 1,
  })
  expect(flagsWithOpening({ maxTurns: 10 }, { maxTurns: 3, model: 'other' })).toEqual({ maxTurns: 3, model: 'other' })
  expect(parseOpening({ tenant: 'of others', maxTurns: 3 })).toEqual({ tenant: 'of others', maxTurns: 3 })
  for (const wrong of [{ maxTurns: 0 }, { maxTurns: '3' }, { folder: 3 }, { model: '' }])
    expect(() => parseOpening(wrong)).toThrow('in the session options must be')
})

test("lets a request that opens a session set at most the worker's number of goal tries", () => {
  expect(flagsWithOpening({ untilTries: 20 }, { maxGoalTries: 500 }).untilTries).toBe(20)
  expect(flagsWithOpening({ untilTries: 20 }, { maxGoalTries: 3 }).untilTries).toBe(3)
  for (const maxGoalTries of [2.5, 1_001])
    expect(() => parseOpening({ maxGoalTries })).toThrow(
      'maxGoalTries in the session options must be a whole number up to 1000',
    )
})

test('refuses limits above those that the worker was started with', () => {
  const changes: SettingsChange[] = []
  // True: only these fields of the session are read.
  const session = withinWorkerLimits({ set: (change) => void changes.push(change) } as Session, {
    maxTurns: 50,
    maxTokens: 9,
  })
  for (const limits of [{ maxTurns: 51 }, { maxTurns: null }, { maxTurns: 2, maxTotalTokens: 10 }])
    expect(() => session.set({ limits })).toThrow(ConfigurationError)
  expect(() => session.set({ limits: { maxTotalTokens: 10 } })).toThrow('limited to 9 by --max-tokens')
  expect(changes).toEqual([])
  session.set({ limits: { maxTurns: 50, maxTotalTokens: 9, maxBudgetUsd: null } })
  session.set({ model: 'other' })
  expect(changes).toHaveLength(2)
})
