// Holds R-WALL-1 of docs/spec.md for `acceptEdits` in large projects: what was there before stays where it is, however many folders there are.
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { canConfineEdits, openEditSession } from './edit-session.ts'
import { folderForMachines } from './machine.ts'

describe.skipIf(!canConfineEdits)('In a project of 2,500 folders (needs bubblewrap)', () => {
  test('a command moves nothing that was there before', async () => {
    const base = mkdtempSync(join(folderForMachines(), 'many-'))
    onTestFinished(() => rmSync(base, { recursive: true, force: true }))
    const [cwd, home] = [join(base, 'project'), join(base, 'home')]
    mkdirSync(join(home, '.halting'), { recursive: true })
    const folders = Array.from({ length: 2_500 }, (_, at) => join(cwd, `d${at}`))
    for (const folder of folders) mkdirSync(folder, { recursive: true })
    const last = folders.slice(-50)
    for (const folder of last) {
      mkdirSync(join(folder, '.vscode'))
      writeFileSync(join(folder, '.npmrc'), 'x')
    }
    const env = { PATH: process.env['PATH'] ?? '/usr/bin:/bin', HOME: home }
    const session = openEditSession({ cwd, home, env, isConfined: true })
    onTestFinished(() => session.dispose())
    for (const line of ['sh -c "echo hi > made"', 'sh -c "echo hi > d2000/made; rm made; touch d*/x"']) {
      const { kind, told, why } = await session.run(line)
      expect([line, kind, told, why]).toEqual([line, 'edit', '(no output)', ''])
      const lost = last.filter((folder) => !existsSync(join(folder, '.vscode')) || !existsSync(join(folder, '.npmrc')))
      expect([line, lost]).toEqual([line, []])
    }
  })
})
