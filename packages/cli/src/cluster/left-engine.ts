import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { UsageError } from '../usage-error.ts'

const endMs = 15_000
const betweenLooksMs = 100

/** Processes by their ids: the program, and the server that it started. */
interface Running {
  readonly program: number
  readonly server: number
}

const fileIn = (folder: string): string => join(folder, 'running.json')

/** Notes who has the data in this folder. */
export function noteRunning(folder: string, running: Running): void {
  writeFileSync(fileIn(folder), JSON.stringify(running), { mode: 0o600 })
}

/** A program that was killed could not end its server, which still holds the data: it is ended now. @throws UsageError where the program is still there. */
export async function endLeftEngine(folder: string): Promise<void> {
  const { program, server } = runningIn(folder)
  // The ids may be those of other processes by now.
  if (server === undefined || !(await commandOf(server)).includes(folder)) return
  if (program !== undefined && /\bcluster dev\b/.test(await commandOf(program)))
    throw new UsageError(
      `halting cluster dev is already running with the data in ${folder} (process ${program}). Use it, or stop it with Ctrl-C.`,
    )
  signal(server, 'SIGTERM')
  for (const until = performance.now() + endMs; (await commandOf(server)).includes(folder);) {
    if (performance.now() > until) signal(server, 'SIGKILL')
    await pause(betweenLooksMs)
  }
}

function runningIn(folder: string): Partial<Running> {
  try {
    // This program wrote it.
    const { program, server } = JSON.parse(readFileSync(fileIn(folder), 'utf8')) as Partial<Running>
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
async function commandOf(pid: number): Promise<string> {
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
