// Holds rules of docs/spec: R-JOUR-5: a process that was killed holds no session, also while nobody has looked at its end.
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { takeLock } from '../../src/files/lock.ts'

/** What `/proc` says of a process, by the name of a file in its folder there. */
const readProc = (pid: number, file: string) => readFileSync(`/proc/${pid}/${file}`, 'utf8')

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5))
}

/** A process that was killed and whose parent never looks. */
async function neverLookedAt(): Promise<number> {
  const parent = spawn('sh', ['-c', 'sleep 60 & echo $!; exec sleep 60'], { stdio: ['ignore', 'pipe', 'ignore'] })
  onTestFinished(() => void parent.kill('SIGKILL'))
  const pid = await new Promise<number>((resolve) =>
    parent.stdout.once('data', (text: Buffer) => resolve(Number(text.toString()))),
  )
  // A shell looks at its children between two commands. The child is killed when the parent is no shell any more.
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
    // One that runs holds it.
    writeFileSync(path, JSON.stringify({ ...holder, pid: process.pid }))
    expect((await takeLock(path)).kind).toBe('held')
  },
)
