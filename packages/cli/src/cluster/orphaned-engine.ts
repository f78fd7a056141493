import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { UsageError } from '../usage-error.ts'

const stopTimeoutMs = 15_000
const checkIntervalMs = 100

/** Process IDs of the program and of the server that it started. */
interface RunningProcesses {
  readonly program: number
  readonly server: number
}

const runningFile = (folder: string): string => join(folder, 'running.json')

/** Records which processes use the data in this folder. */
export function recordRunningEngine(folder: string, running: RunningProcesses): void {
  writeFileSync(runningFile(folder), JSON.stringify(running), { mode: 0o600 })
}

/** Stops a server that is still running because its program was killed. @throws UsageError if the program is still running */
export async function stopOrphanedEngine(folder: string): Promise<void> {
  const { program, server } = readRunning(folder)
  // The IDs may belong to other processes by now.
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
    // This cast is safe: this program wrote the file.
    const { program, server } = JSON.parse(readFileSync(runningFile(folder), 'utf8')) as Partial<RunningProcesses>
    return {
      ...(Number.isSafeInteger(program) && { program }),
      ...(Number.isSafeInteger(server) && { server }),
    }
  } catch {
    // No server has been started here.
    return {}
  }
}

/** The command line of a process; empty if it is not running, or the system does not report it. */
async function commandLineOf(pid: number): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)('ps', ['-ww', '-o', 'stat=,args=', '-p', String(pid)])
    // A zombie process has exited.
    return stdout.trimStart().startsWith('Z') ? '' : stdout
  } catch {
    return ''
  }
}

function signal(pid: number, name: 'SIGTERM' | 'SIGKILL'): void {
  try {
    process.kill(pid, name)
  } catch {
    // It has already exited.
  }
}
