import { type ChildProcess, spawn, spawnSync, type StdioOptions } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, inject } from 'vitest'

// The real program, bundled from the current sources (vitest.build.ts) and run as a separate process.

let folder = ''

/** The folder in which programs of this test file run; empty at first. */
export const here = (): string => folder

/** The file of the program. */
export const programPath = (): string => join(inject('program'), 'bin/halting.js')

/** The name of the folder with the sessions of this one. */
export function projectName(cwd: string): string {
  const hash = createHash('sha256').update(cwd).digest('hex').slice(0, 12)
  return `${cwd.replaceAll(/[^a-zA-Z0-9]/g, '-')}-${hash}`
}

/** Creates a folder for the program to run in, which is removed after the test file. */
export function installProgram(): void {
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'halting-cli-test-'))
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
}

export interface Ended {
  /** Exit code, or the Unix signal that ended it. */
  readonly status: number | string | null
  readonly stdout: string
  readonly stderr: string
}

export interface RunOptions {
  /** Content of stdin; empty and closed at once if absent. `open` leaves the pipe open and silent. */
  readonly stdin?: string | { readonly open: true }
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
}

export interface Running {
  readonly child: ChildProcess
  readonly stdout: () => string
  readonly stderr: () => string
  /** Resolves when stdout or stderr contains the text. */
  readonly waitForOutput: (text: string) => Promise<void>
  readonly ended: Promise<Ended>
}

/** Starts the program without a key and without the developer's settings. */
export function start(args: readonly string[], options: RunOptions = {}): Running {
  const child = spawn(process.execPath, [programPath(), ...args], {
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
  // A program that needs no stdin may exit before it is written.
  child.stdin.on('error', () => undefined)
  if (typeof options.stdin !== 'object') child.stdin.end(options.stdin ?? '')
  const ended = new Promise<Ended>((resolve) => {
    child.once('close', (code, signal) => resolve({ status: code ?? signal, ...said }))
  })
  return {
    child,
    stdout: () => said.stdout,
    stderr: () => said.stderr,
    waitForOutput: (text) =>
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

/**
 * Runs the program in this process, from its sources, like `run` in a separate one, at a tenth of the cost. For commands
 * that read and for errors; not for runs, which listen to signals and start programs.
 */
export async function runHere(args: readonly string[], options: Omit<RunOptions, 'stdin'> = {}): Promise<Ended> {
  // Few tests need it.
  const [{ mainWith }, { createOutput }] = await Promise.all([
    import('../../src/main.ts'),
    import('../../src/io/output.ts'),
  ])
  const said = { stdout: '', stderr: '' }
  const stream = (name: keyof typeof said): NodeJS.WriteStream => {
    const written = new PassThrough()
    written.setEncoding('utf8').on('data', (text: string) => void (said[name] += text))
    // Like a pipe, it has nothing of a terminal.
    return written as unknown as NodeJS.WriteStream
  }
  const status = await mainWith({
    argv: args,
    env: { ...environment(), ...options.env },
    cwd: () => options.cwd ?? folder,
    stdin: Readable.from([]) as NodeJS.ReadStream,
    output: createOutput(stream('stdout'), stream('stderr')),
    home: pathToFileURL(join(inject('program'), '/')),
  })
  return { status, ...said }
}

/** Runs the program with stdout on an open file. */
export function runWithStdout(args: readonly string[], file: number): Pick<Ended, 'status' | 'stderr'> {
  const stdio: StdioOptions = ['ignore', file, 'pipe']
  return spawnSync(process.execPath, [programPath(), ...args], {
    cwd: folder,
    env: environment(),
    stdio,
    encoding: 'utf8',
  })
}

function environment(): NodeJS.ProcessEnv {
  return {
    PATH: `${process.env['PATH']}${delimiter}${dirname(process.execPath)}`,
    HOME: folder,
    TMPDIR: folder,
    XDG_CACHE_HOME: inject('codeCache'),
  }
}

let scripts = 0

/** Writes a script for the model; returns its name. */
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
  // True: a host expects an object with a type in each line.
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line)
}

/** Resolves with the content of the file, as soon as there is any. */
export async function waitForFileText(name: string): Promise<string> {
  while (!existsSync(name) || readFileSync(name, 'utf8').trim() === '')
    await new Promise((resolve) => setTimeout(resolve, 5))
  return readFileSync(name, 'utf8').trim()
}

/** Whether a process is running; a zombie is not. */
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

/** The processes that are still running. Killed ones get a moment to exit. */
export async function stillAlive(processIds: readonly number[]): Promise<readonly number[]> {
  const deadline = performance.now() + 2_000
  while (processIds.some(isAlive) && performance.now() < deadline)
    await new Promise((resolve) => setTimeout(resolve, 5))
  return processIds.filter(isAlive)
}

/** Every file below a folder, with its content; none if the folder is missing. */
export function filesBelow(folder: string): readonly (readonly [path: string, content: string])[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder, { recursive: true })
    .map((name) => join(folder, String(name)))
    .filter((path) => statSync(path).isFile())
    .map((path) => [path, readFileSync(path, 'utf8')])
}
