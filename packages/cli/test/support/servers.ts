import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach } from 'vitest'
import { type Ended, here, linesOf, run, script } from './program.ts'

const server = fileURLToPath(new URL('../../../agent/test/mcp/hostile-server.mjs', import.meta.url))

/** A server that does as `mode` says, as files give it. */
export const one = (mode: string, note = '', env: object = {}): object => ({
  command: process.execPath,
  args: [server, mode, note],
  env,
})

/** What `--mcp-config` takes. */
export const given = (servers: object): string => JSON.stringify({ mcpServers: servers })

type Line = Readonly<Record<string, unknown>>

interface Told {
  readonly status: Ended['status']
  readonly stderr: string
  readonly init: Line
  readonly results: readonly { readonly content: unknown; readonly is_error?: true }[]
  readonly lines: readonly Line[]
}

interface ServersProject {
  /** The folder of the project: a new one for each test. */
  readonly folder: () => string
  /** A run of the program in the project, told line by line. */
  readonly told: (
    args: readonly string[],
    replies: readonly unknown[],
    env?: Readonly<Record<string, string>>,
  ) => Promise<Told>
}

export function projectWithServers(): ServersProject {
  let project = ''
  let config = ''
  beforeEach(() => {
    project = mkdtempSync(join(here(), 'project-'))
    config = mkdtempSync(join(here(), 'config-'))
  })
  afterEach(() => {
    for (const folder of [project, config]) rmSync(folder, { recursive: true, force: true })
  })
  return {
    folder: () => project,
    async told(args, replies, env = {}) {
      const { status, stdout, stderr } = await run(
        ['--verbose', '--output-format', 'stream-json', '--script', script(replies), ...args],
        { cwd: project, env: { HALTING_CONFIG_DIR: config, HALTING_MCP_WAIT_MS: '60000', ...env } },
      )
      const lines: readonly Line[] = stdout === '' ? [] : linesOf(stdout)
      const init = lines.find(({ subtype }) => subtype === 'init') ?? {}
      const results = lines.flatMap(({ type, message }) => {
        if (type !== 'user') return []
        // What a host reads of a user message of a run: results of tools.
        const { content } = message as { readonly content: Told['results'] }
        return Array.isArray(content) ? content : []
      })
      return { status, stderr, init, results, lines }
    },
  }
}
