import { type ChildProcess, spawn, spawnSync, type StdioOptions } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { afterAll, beforeAll } from 'vitest'

// The real program, bundled from the sources of this moment and run as a process of its own.

const path = (relative: string): string => fileURLToPath(new URL(`../../../../${relative}`, import.meta.url))
// Under the repository, where ripgrep is found.
const home = path(`.tmp/cli-under-test-${process.pid}-${process.env['VITEST_POOL_ID'] ?? '0'}`)
let folder = ''

/** Where programs of this test file run; empty at first. */
export const here = (): string => folder

/** The program's own file. */
export const programPath = (): string => join(home, 'bin/halting.js')

/** Bundles the program and makes a folder for it to run in; both are removed at the end of the test file. */
export function installProgram(): void {
  beforeAll(async () => {
    rmSync(home, { recursive: true, force: true })
    mkdirSync(home, { recursive: true })
    folder = mkdtempSync(join(tmpdir(), 'halting-cli-test-'))
    for (const part of ['bin', 'package.json'])
      cpSync(path(`packages/cli/${part}`), join(home, part), { recursive: true })
    symlinkSync(path('packages/cli/examples'), join(home, 'examples'))
    await build({
      absWorkingDir: path('packages/cli'),
      entryPoints: { main: 'src/main.ts' },
      outdir: join(home, 'dist'),
      chunkNames: 'chunks/[name]-[hash]',
      bundle: true,
      splitting: true,
      format: 'esm',
      platform: 'node',
      target: 'node20.19',
      external: ['@vscode/ripgrep'],
      alias: {
        '@halting/models/scripted': path('packages/models/src/scripted/index.ts'),
        '@halting/models': path('packages/models/src/index.ts'),
        '@halting/agent': path('packages/agent/src/index.ts'),
        '@halting/core/steps': path('packages/core/src/steps/index.ts'),
        '@halting/core/adapters': path('packages/core/src/adapters/index.ts'),
        '@halting/core': path('packages/core/src/index.ts'),
      },
      banner: {
        js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
      },
      logLevel: 'warning',
    })
  })
  afterAll(() => {
    rmSync(home, { recursive: true, force: true })
    rmSync(folder, { recursive: true, force: true })
  })
}

export interface Ended {
  /** Exit code, or the Unix signal that ended it. */
  readonly status: number | string | null
  readonly stdout: string
  readonly stderr: string
}

export interface RunOptions {
  /** What comes on stdin; nothing, closed at once, when absent. `open` leaves the pipe open and silent. */
  readonly stdin?: string | { readonly open: true }
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
}

export interface Running {
  readonly child: ChildProcess
  readonly stdout: () => string
  readonly stderr: () => string
  /** Resolves when stdout or stderr holds the text. */
  readonly says: (text: string) => Promise<void>
  readonly ended: Promise<Ended>
}

/** Starts the program. No key, no settings of the person who runs the tests. */
export function start(args: readonly string[], options: RunOptions = {}): Running {
  const child = spawn(process.execPath, [join(home, 'bin/halting.js'), ...args], {
    cwd: options.cwd ?? folder,
    env: { ...environment(), ...options.env },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const said = { stdout: '', stderr: '' }
  const listeners = new Set<() => void>()
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      said[name] += text
      for (const listener of listeners) listener()
    })
  }
  // A program that needs no stdin may be gone before it is written.
  child.stdin.on('error', () => undefined)
  if (typeof options.stdin !== 'object') child.stdin.end(options.stdin ?? '')
  const ended = new Promise<Ended>((resolve) => {
    child.once('close', (code, signal) => resolve({ status: code ?? signal, ...said }))
  })
  return {
    child,
    stdout: () => said.stdout,
    stderr: () => said.stderr,
    says: (text) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (!said.stdout.includes(text) && !said.stderr.includes(text)) return
          listeners.delete(look)
          resolve()
        }
        listeners.add(look)
        look()
        void ended.then(({ status, stderr }) =>
          reject(new Error(`ended with ${status} without saying "${text}": ${stderr}`)),
        )
      }),
    ended,
  }
}

export function run(args: readonly string[], options: RunOptions = {}): Promise<Ended> {
  return start(args, options).ended
}

/** Runs the program with stdout on an open file. */
export function runWithStdout(args: readonly string[], file: number): Pick<Ended, 'status' | 'stderr'> {
  const stdio: StdioOptions = ['ignore', file, 'pipe']
  return spawnSync(process.execPath, [join(home, 'bin/halting.js'), ...args], {
    cwd: folder,
    env: environment(),
    stdio,
    encoding: 'utf8',
  })
}

function environment(): NodeJS.ProcessEnv {
  return { PATH: `${process.env['PATH']}${delimiter}${dirname(process.execPath)}`, HOME: folder, TMPDIR: folder }
}

let scripts = 0

/** Writes a script for the model; gives its name. */
export function script(replies: readonly unknown[], model?: string): string {
  const name = join(folder, `script-${++scripts}.json`)
  writeFileSync(name, JSON.stringify({ ...(model === undefined ? {} : { model }), replies }))
  return name
}

export function call(
  name: string,
  input: unknown,
): { readonly type: 'tool_use'; readonly name: string; readonly input: unknown } {
  return { type: 'tool_use', name, input }
}

export type Line = { readonly type: string; readonly subtype?: string; readonly [field: string]: unknown }

export function linesOf(stdout: string): readonly Line[] {
  // What a host does with a line: it is an object with a type.
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line)
}

/** Resolves with what the file says, as soon as there is one. */
export async function fileSays(name: string): Promise<string> {
  while (!existsSync(name) || readFileSync(name, 'utf8').trim() === '')
    await new Promise((resolve) => setTimeout(resolve, 5))
  return readFileSync(name, 'utf8').trim()
}

/** Whether a process runs; one that only waits for its parent to look does not. */
export function isAlive(processId: number): boolean {
  try {
    process.kill(processId, 0)
  } catch {
    return false
  }
  try {
    const stat = readFileSync(`/proc/${processId}/stat`, 'latin1')
    return !/^[ZX]/.test(stat.slice(stat.lastIndexOf(')') + 2))
  } catch {
    return !existsSync('/proc/self')
  }
}

/** Those of the processes that still run. What was killed gets a moment to be gone: the system does that in its own time. */
export async function survivorsOf(processIds: readonly number[]): Promise<readonly number[]> {
  const deadline = performance.now() + 2_000
  while (processIds.some(isAlive) && performance.now() < deadline)
    await new Promise((resolve) => setTimeout(resolve, 5))
  return processIds.filter(isAlive)
}
