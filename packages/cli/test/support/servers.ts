import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach } from 'vitest'
import { type Ended, here, linesOf, run, script } from './program.ts'

export const server = fileURLToPath(new URL('../../../agent/test/mcp/hostile-server.mjs', import.meta.url))

/** A server each of whose tools asks the user something. */
export const askingServer = fileURLToPath(new URL('../../../agent/test/mcp/asking-server.mjs', import.meta.url))

/** A server that behaves according to `mode`, in the form of a file. */
export const one = (mode: string, note = '', env: object = {}): object => ({
  command: process.execPath,
  args: [server, mode, note],
  env,
})

/** The value of `--mcp-config`. */
export const given = (servers: object): string => JSON.stringify({ mcpServers: servers })

type Line = Readonly<Record<string, unknown>>

interface ProjectRun {
  readonly status: Ended['status']
  readonly stderr: string
  readonly init: Line
  readonly results: readonly { readonly content: unknown; readonly is_error?: true }[]
  readonly lines: readonly Line[]
}

interface ServersProject {
  /** The folder of the project: a new one for each test. */
  readonly folder: () => string
  /** A run of the program in the project, as lines. */
  readonly runInProject: (
    args: readonly string[],
    replies: readonly unknown[],
    env?: Readonly<Record<string, string>>,
  ) => Promise<ProjectRun>
}

interface TestFolders {
  /** For the project, and for the user: new ones for each test. */
  project: string
  config: string
}

function foldersOfTest(): Readonly<TestFolders> {
  const place: TestFolders = { project: '', config: '' }
  beforeEach(() => {
    place.project = mkdtempSync(join(here(), 'project-'))
    place.config = mkdtempSync(join(here(), 'config-'))
  })
  afterEach(() => {
    for (const folder of [place.project, place.config]) rmSync(folder, { recursive: true, force: true })
  })
  return place
}

interface ServersCommand {
  readonly place: Readonly<TestFolders>
  /** `halting mcp` in the project. */
  readonly mcp: (...args: readonly string[]) => Promise<Ended>
  /** The content of the user's file. */
  readonly own: () => unknown
}

export function commandOfServers(): ServersCommand {
  const place = foldersOfTest()
  return {
    place,
    mcp: (...args) => run(['mcp', ...args], { cwd: place.project, env: { HALTING_CONFIG_DIR: place.config } }),
    own: () => JSON.parse(readFileSync(join(place.config, 'mcp.json'), 'utf8')) as unknown,
  }
}

export function projectWithServers(): ServersProject {
  const place = foldersOfTest()
  return {
    folder: () => place.project,
    async runInProject(args, replies, env = {}) {
      const { status, stdout, stderr } = await run(
        ['--verbose', '--output-format', 'stream-json', '--script', script(replies), ...args],
        { cwd: place.project, env: { HALTING_CONFIG_DIR: place.config, HALTING_MCP_WAIT_MS: '60000', ...env } },
      )
      const lines: readonly Line[] = stdout === '' ? [] : linesOf(stdout)
      const init = lines.find(({ subtype }) => subtype === 'init') ?? {}
      const results = lines.flatMap(({ type, message }) => {
        if (type !== 'user') return []
        // True: a host reads this of a user message in a run: results of tools.
        const { content } = message as { readonly content: ProjectRun['results'] }
        return Array.isArray(content) ? content : []
      })
      return { status, stderr, init, results, lines }
    },
  }
}
