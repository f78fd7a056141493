import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import type { Environment } from '../files/paths.ts'
import type { DescribedSandbox } from './describe.ts'
import type { Sandbox } from './sandbox.ts'

/** A child process with pipes to its three streams. */
export type PipedProcess = ChildProcess & Pick<ChildProcessWithoutNullStreams, 'stdin' | 'stdout' | 'stderr'>

/** A program to start, with its arguments, folder and environment. */
export interface SpawnRequest {
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
 * Starts a program in its own process group, with pipes to all three streams, in the sandbox if there is one.
 * @throws SandboxError for a command that cannot be confined.
 */
export function spawnPiped(
  { file, args, cwd, env }: SpawnRequest,
  confinement?: {
    /** The sandbox. */
    readonly sandbox: Sandbox
    /** The sandbox as it is for this command. */
    readonly described: DescribedSandbox
  },
): PipedProcess {
  const own = ['pipe', 'pipe', 'pipe'] as const
  if (confinement === undefined) return spawn(file, args, { cwd, detached: true, env, stdio: [...own] })
  const command = confinement.sandbox.sandboxed(
    { file, args, directory: cwd, env, firstDescriptor: own.length },
    confinement.described,
  )
  let child: PipedProcess | undefined
  try {
    const stdio = [...own, ...command.descriptors]
    // This cast is safe: the first three streams are pipes, which the types do not infer from a longer list.
    child = spawn(command.file, command.args, { cwd, detached: true, env: command.env, stdio }) as PipedProcess
    return child
  } finally {
    command.started(child)
  }
}
