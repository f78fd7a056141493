// Holds rules of docs/spec: R-MCP-3a, R-MCP-3b: a program that uses the library and calls a server again that it has just lost.
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sources } from '../../../../vitest.build.ts'

let folder = ''
let library = ''
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'halting-mcp-lost-'))
  library = join(folder, 'library.mjs')
  const { '@halting/core/testing': testing = '', '@halting/core': core = '', '@halting/agent/mcp': mcp = '' } = sources
  await build({
    stdin: {
      contents: `export * from '${core}'; export { scriptedModel } from '${testing}'; export { McpServers } from '${mcp}'`,
      resolveDir: fileURLToPath(new URL('../..', import.meta.url)),
    },
    outfile: library,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    alias: sources,
    banner: {
      js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
    },
    logLevel: 'warning',
  })
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function runProgram(
  code: string,
): Promise<{ readonly exitCode: unknown; readonly stdout: string; readonly stderr: string }> {
  const program = join(folder, 'program.mjs')
  writeFileSync(program, `import { McpServers, scriptedModel, startRun, streamRun } from './library.mjs'\n${code}`)
  return new Promise((resolve) => {
    execFile(process.execPath, [program], { timeout: 60_000, killSignal: 'SIGKILL' }, (error, stdout, stderr) =>
      resolve({ exitCode: error === null ? 0 : (error.code ?? error.signal), stdout, stderr }),
    )
  })
}

const crashing = JSON.stringify({
  type: 'stdio',
  command: process.execPath,
  args: [fileURLToPath(new URL('hostile-server.mjs', import.meta.url)), 'crash', ''],
  env: {},
})

const calling = `
  const call = (id) => ({ toolCalls: [{ id, name: 'mcp__s__do', input: {} }] })
  const servers = new McpServers({ servers: [{ name: 's', server }], cwd: process.cwd() })
  await servers.ready()
  const tools = servers.names.map((name) => servers.tool(name))
  const model = scriptedModel([call('a'), call('b'), 'Done.'])
  const { terminal } = await streamRun(startRun({ prompt: 'go' }), { model, tools }).ended
  await servers.dispose()
  console.log(terminal.reason, terminal.summary.toolResults)
`

test('a server that dies in every call', async () => {
  expect(await runProgram(`const server = ${crashing}\n${calling}`)).toEqual({
    exitCode: 0,
    stdout: 'completed 2\n',
    stderr: '',
  })
})

test('a server in this process that never answers, and never closes', async () => {
  const end = await runProgram(`
    const never = () => new Promise(() => {})
    const server = { type: 'sdk', instance: { connect: never, close: never } }
    const servers = new McpServers({ servers: [{ name: 's', server }], cwd: process.cwd(), limits: { connectMs: 100, killGraceMs: 100, waitMs: 5_000 } })
    await servers.ready()
    console.log(servers.statuses[0].status, servers.statuses[0].problem)
    await servers.dispose()
    console.log('disposed')
  `)
  expect(end).toEqual({
    exitCode: 0,
    stdout: 'failed it did not answer within 0.1 s (MCP_TIMEOUT)\ndisposed\n',
    stderr: '',
  })
})
