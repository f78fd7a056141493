// Tests R-JOUR-5 of docs/spec: a killed process locks no session, even while its parent has not waited for it.
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { takeLock } from '../../src/files/lock.ts'

/** Reads a file of a process in `/proc`. */
const readProc = (pid: number, file: string) => readFileSync(`/proc/${pid}/${file}`, 'utf8')

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5))
}

/** A killed process whose parent never waits for it. */
async function neverLookedAt(): Promise<number> {
  const parent = spawn('sh', ['-c', 'sleep 60 & echo $!; exec sleep 60'], { stdio: ['ignore', 'pipe', 'ignore'] })
  onTestFinished(() => void parent.kill('SIGKILL'))
  const pid = await new Promise<number>((resolve) =>
    parent.stdout.once('data', (text: Buffer) => resolve(Number(text.toString()))),
  )
  // A shell waits for its children between two commands. The child is killed after the parent is no longer a shell.
  await until(() => readProc(parent.pid!, 'cmdline').startsWith('sleep'))
  process.kill(pid, 'SIGKILL')
  await until(() => /\) Z /.test(readProc(pid, 'stat')))
  return pid
}

test.skipIf(!existsSync('/proc/self/stat'))(
  'ignores the lock of a process that ended, even before its parent has reaped it',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'halting-lock-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const path = join(folder, 'a.lock')
    const holder = { pid: await neverLookedAt(), began: '', host: hostname(), since: '' }
    writeFileSync(path, JSON.stringify(holder))
    const lock = await takeLock(path)
    expect(lock.kind).toBe('locked')
    // A running process holds the lock.
    writeFileSync(path, JSON.stringify({ ...holder, pid: process.pid }))
    expect((await takeLock(path)).kind).toBe('held')
  },
)
