import { spawn } from 'node:child_process'
import { chownSync } from 'node:fs'
import { dirname } from 'node:path'
import { onTestFinished } from 'vitest'
import type { SandboxedCommand } from '../../src/sandbox/sandbox.ts'
import { type ReadConfinement, Wall } from '../../src/sandbox/wall.ts'
import { findLandlock, findNamespaces, type WallMeans } from '../../src/sandbox/wall-means.ts'

export type Means = Extract<WallMeans, { readonly kind: 'landlock' | 'bubblewrap' }>

const path = process.env['PATH'] ?? ''

/** All ways to confine commands on this machine. */
export const allMeans: readonly Means[] = [findLandlock(path, []), findNamespaces(path, [])].filter(
  (means): means is Means => means?.kind === 'landlock' || means?.kind === 'bubblewrap',
)

export const isRoot: boolean = process.getuid?.() === 0

/** A user who owns nothing here. */
export const nobody = 65_534

export interface RunOptions {
  /** Default: unconfined. */
  readonly means?: Means | undefined
  readonly cwd: string
  readonly home: string
  readonly env?: Readonly<Record<string, string>>
  readonly kind?: ReadConfinement['kind']
  readonly readable?: readonly string[]
  readonly asUser?: number | undefined
}

export interface Ran {
  readonly output: string
  readonly exitCode: number | null
}

/** Runs a line of bash as the tool does: stdout and stderr are merged, stdin is empty, the process has its own group. */
export function runLine(line: string, options: RunOptions): Promise<Ran> {
  const { means, cwd, home, env = {}, kind = 'read', readable = [], asUser } = options
  const plain = {
    file: 'bash',
    args: ['-c', `exec 2>&1; ${line}`],
    directory: cwd,
    // The search path of the user who runs the tests may name folders that are closed to others.
    env: { ...process.env, ...(asUser !== undefined && { PATH: '/usr/bin:/bin' }), ...env, HOME: home },
    firstDescriptor: 3,
  }
  const wall = means === undefined ? undefined : new Wall({ means, home })
  if (wall !== undefined) onTestFinished(() => wall.dispose())
  const started: SandboxedCommand = wall?.confine(plain, [cwd], { kind, readable }) ?? {
    ...plain,
    descriptors: [],
    started: () => undefined,
  }
  const temporary = wall === undefined ? undefined : started.env['TMPDIR']
  // In production the program that creates it is that user.
  if (asUser !== undefined && temporary !== undefined)
    for (const folder of [dirname(temporary), temporary]) chownSync(folder, asUser, asUser)
  const child = spawn(started.file, started.args, {
    cwd,
    env: started.env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', ...started.descriptors],
    ...(asUser !== undefined && { uid: asUser, gid: asUser }),
  })
  started.started(child)
  let output = ''
  child.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString('latin1')))
  child.stderr?.on('data', (chunk: Buffer) => (output += chunk.toString('latin1')))
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (exitCode) => resolve({ output, exitCode }))
  })
}
