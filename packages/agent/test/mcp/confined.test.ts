// Holds rules of docs/spec: R-MCP-14. Needs bubblewrap.
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { McpServerConfig } from '../../src/mcp/index.ts'
import { openSandbox, sandboxSettingsOf } from '../../src/sandbox/index.ts'
import { isBubblewrapThere } from '../sandbox/world.ts'
import { call, readyServers, textOf } from './support.ts'

test.skipIf(!isBubblewrapThere)('a server runs in the sandbox: it writes nothing outside of the project', async () => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'halting-mcp-')))
  const project = join(root, 'project')
  mkdirSync(project)
  const sandbox = await openSandbox({
    cwd: project,
    directories: [project],
    home: root,
    settings: sandboxSettingsOf([{ enabled: true }]),
  })
  try {
    const script = join(project, 'server.mjs')
    copyFileSync(new URL('hostile-server.mjs', import.meta.url), script)
    const server = (note: string): McpServerConfig => ({
      type: 'stdio',
      command: process.execPath,
      args: [script, 'good', note],
      env: {},
    })
    const inside = await readyServers({ s: server(join(project, 'note')) }, { cwd: project, sandbox })
    expect(inside.statuses).toMatchObject([{ status: 'connected' }])
    expect(textOf(await call(inside, 'mcp__s__say'))).toContain(` in ${project}`)
    expect(existsSync(join(project, 'note'))).toBe(true)
    // It is refused, or writes to a folder that is removed with it.
    const outside = await readyServers({ s: server(join(root, 'note')) }, { cwd: project, sandbox })
    expect(existsSync(join(root, 'note'))).toBe(false)
    await inside.dispose()
    await outside.dispose()
  } finally {
    sandbox.dispose()
    rmSync(root, { recursive: true, force: true })
  }
})
