import { spawn } from 'node:child_process'
import { closeSync, openSync, writeSync } from 'node:fs'
import type { Readable } from 'node:stream'
import { markVariable } from './process-group.ts'

/**
 * Starts a separate process that reads the rest of a pipe until its writers have ended. `file` receives the output so
 * far and the rest; without a file, the output is discarded. A pipe that cannot be handed over is closed, as it would
 * be at the end of this program.
 */
export function drainPipeInto(pipe: Readable | undefined, file: string | undefined, soFar: string): void {
  if (pipe === undefined || pipe.destroyed || pipe.readableEnded) return
  pipe.pause()
  let descriptor: number | undefined
  try {
    if (file !== undefined) {
      // Fails if another process has created the file.
      descriptor = openSync(file, 'wx', 0o600)
      writeSync(descriptor, soFar)
    }
    const { [markVariable]: _, ...env } = process.env
    const reader = spawn('cat', [], { stdio: [pipe, descriptor ?? 'ignore', 'ignore'], detached: true, env, cwd: '/' })
    reader.on('error', () => undefined)
    reader.unref()
  } catch {
    // Without a reader, the writer may end with its next line, as it would have without this process.
  } finally {
    if (descriptor !== undefined) closeSync(descriptor)
    pipe.destroy()
  }
}
