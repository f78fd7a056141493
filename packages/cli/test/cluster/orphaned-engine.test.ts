import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { stopOrphanedEngine, recordRunningEngine } from '../../src/cluster/orphaned-engine.ts'

function temporary(): string {
  const folder = mkdtempSync(join(tmpdir(), 'halting-left-engine-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return folder
}

/** A long-running process with these words in its command line. */
async function staying(...words: string[]): Promise<ChildProcess & { readonly pid: number }> {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)', '--', ...words], { stdio: 'ignore' })
  onTestFinished(() => void child.kill('SIGKILL'))
  await once(child, 'spawn')
  // It has started.
  return child as ChildProcess & { readonly pid: number }
}

const nobody = 2 ** 22 + 1
const isThere = (child: ChildProcess): boolean => child.exitCode === null && child.signalCode === null

test('stops the server of a killed program, but not the server of a running one', async () => {
  const folder = temporary()
  await stopOrphanedEngine(folder)
  const server = await staying('--base-dir', folder)
  const program = await staying('cluster dev')
  recordRunningEngine(folder, { program: program.pid, server: server.pid })
  await expect(stopOrphanedEngine(folder)).rejects.toThrow(
    `already running with the data in ${folder} (process ${program.pid})`,
  )
  expect(isThere(server)).toBe(true)
  recordRunningEngine(folder, { program: nobody, server: server.pid })
  const ended = once(server, 'exit')
  await stopOrphanedEngine(folder)
  expect(await ended).toEqual([null, 'SIGTERM'])
})

test("ignores a process that has reused the server's ID", async () => {
  const folder = temporary()
  const other = await staying('something else')
  recordRunningEngine(folder, { program: nobody, server: other.pid })
  await stopOrphanedEngine(folder)
  expect(isThere(other)).toBe(true)
})
