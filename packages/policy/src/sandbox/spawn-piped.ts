import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import type { Environment } from '../files/paths.ts'
import type { Described } from './describe.ts'
import type { Sandbox } from './sandbox.ts'

/** A child process with pipes to its three streams. */
export type Piped = ChildProcess & Pick<ChildProcessWithoutNullStreams, 'stdin' | 'stdout' | 'stderr'>

/** A program to start, with its arguments, folder and environment. */
export interface ToSpawn {
  /** Path or name of the program. */
  readonly file: string
  /** Its arguments. */
  readonly args: readonly string[]
  /** The folder in which it starts. */
  readonly cwd: string
  /** Its environment. */
  readonly env: Environment
}

/**
 * Starts a program in a group of its own, with pipes to all three streams, in the sandbox where there is one.
 * @throws SandboxError for what cannot be held.
 */
export function spawnPiped(
  { file, args, cwd, env }: ToSpawn,
  held?: {
    /** The sandbox. */
    readonly sandbox: Sandbox
    /** What the sandbox looks like for this command. */
    readonly described: Described
  },
): Piped {
  const own = ['pipe', 'pipe', 'pipe'] as const
  if (held === undefined) return spawn(file, args, { cwd, detached: true, env, stdio: [...own] })
  const command = held.sandbox.sandboxed(
    { file, args, directory: cwd, env, firstDescriptor: own.length },
    held.described,
  )
  let child: Piped | undefined
  try {
    const stdio = [...own, ...command.descriptors]
    // The first three are pipes, which the types do not know of a longer list.
    child = spawn(command.file, command.args, { cwd, detached: true, env: command.env, stdio }) as Piped
    return child
  } finally {
    command.started(child)
  }
}
