// Holds R-WALL-1 of docs/spec for `acceptEdits` in large projects: existing files stay where they are, however many
// folders there are.
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { canConfineEdits, openEditSession } from './edit-session.ts'
import { folderForMachines } from './machine.ts'

describe.skipIf(!canConfineEdits)('In a project of 5,500 folders (needs bubblewrap)', () => {
  test('a command moves nothing that existed before', async () => {
    const base = mkdtempSync(join(folderForMachines(), 'many-'))
    onTestFinished(() => rmSync(base, { recursive: true, force: true }))
    const [cwd, home] = [join(base, 'project'), join(base, 'home')]
    mkdirSync(join(home, '.halting'), { recursive: true })
    const folders = Array.from({ length: 5_500 }, (_, at) => join(cwd, `d${at}`))
    for (const folder of folders) mkdirSync(folder, { recursive: true })
    const last = folders.slice(-50)
    for (const folder of last) {
      mkdirSync(join(folder, '.vscode'))
      writeFileSync(join(folder, '.npmrc'), 'x')
    }
    const env = { PATH: process.env['PATH'] ?? '/usr/bin:/bin', HOME: home }
    const session = openEditSession({ cwd, home, env, isConfined: true })
    onTestFinished(() => session.dispose())
    for (const line of ['sh -c "echo hi > made"', 'sh -c "echo hi > d5000/made; rm made; touch d5300/x"']) {
      const { kind, text, why } = await session.run(line)
      expect([line, kind, text, why]).toEqual([line, 'edit', '(no output)', ''])
      const lost = last.filter((folder) => !existsSync(join(folder, '.vscode')) || !existsSync(join(folder, '.npmrc')))
      expect([line, lost]).toEqual([line, []])
    }
    // What a command creates is reverted there too.
    await session.run('sh -c "mkdir d5499/.idea; echo x > d5498/.envrc; mkdir d1/.idea"')
    expect(['d5499/.idea', 'd5498/.envrc', 'd1/.idea'].filter((name) => existsSync(join(cwd, name)))).toEqual([])
  })
})
