import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { UsageError } from '../usage-error.ts'

const stopTimeoutMs = 15_000
const checkIntervalMs = 100

/** Processes by their ids: the program, and the server that it started. */
interface RunningProcesses {
  readonly program: number
  readonly server: number
}

const runningFile = (folder: string): string => join(folder, 'running.json')

/** Notes who has the data in this folder. */
export function recordRunningEngine(folder: string, running: RunningProcesses): void {
  writeFileSync(runningFile(folder), JSON.stringify(running), { mode: 0o600 })
}

/** A program that was killed could not end its server, which still holds the data: it is ended now. @throws UsageError where the program is still there. */
export async function stopOrphanedEngine(folder: string): Promise<void> {
  const { program, server } = readRunning(folder)
  // The ids may be those of other processes by now.
  if (server === undefined || !(await commandLineOf(server)).includes(folder)) return
  if (program !== undefined && /\bcluster dev\b/.test(await commandLineOf(program)))
    throw new UsageError(
      `halting cluster dev is already running with the data in ${folder} (process ${program}). Use it, or stop it with Ctrl-C.`,
    )
  signal(server, 'SIGTERM')
  for (const deadline = performance.now() + stopTimeoutMs; (await commandLineOf(server)).includes(folder);) {
    if (performance.now() > deadline) signal(server, 'SIGKILL')
    await pause(checkIntervalMs)
  }
}

function readRunning(folder: string): Partial<RunningProcesses> {
  try {
    // This program wrote it.
    const { program, server } = JSON.parse(readFileSync(runningFile(folder), 'utf8')) as Partial<RunningProcesses>
    return {
      ...(Number.isSafeInteger(program) && { program }),
      ...(Number.isSafeInteger(server) && { server }),
    }
  } catch {
    // Nobody has been here.
    return {}
  }
}

/** Empty for a process that is not there, or where this system does not tell. */
async function commandLineOf(pid: number): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)('ps', ['-ww', '-o', 'stat=,args=', '-p', String(pid)])
    // One that has ended and that nobody has asked about is gone.
    return stdout.trimStart().startsWith('Z') ? '' : stdout
  } catch {
    return ''
  }
}

function signal(pid: number, name: 'SIGTERM' | 'SIGKILL'): void {
  try {
    process.kill(pid, name)
  } catch {
    // It has ended.
  }
}
