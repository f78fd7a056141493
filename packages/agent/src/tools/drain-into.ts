import { spawn } from 'node:child_process'
import { closeSync, openSync, writeSync } from 'node:fs'
import type { Readable } from 'node:stream'
import { markVariable } from './process-group.ts'

/**
 * Has a process of its own read what is left to come of a pipe, until nobody writes into it any more. `file` takes what was written so far and what
 * comes; without one it goes nowhere. What cannot be handed over is closed, as it would be when this program ends.
 */
export function drainInto(pipe: Readable | undefined, file: string | undefined, soFar: string): void {
  if (pipe === undefined || pipe.destroyed || pipe.readableEnded) return
  pipe.pause()
  let descriptor: number | undefined
  try {
    if (file !== undefined) {
      // Nobody else may have made it.
      descriptor = openSync(file, 'wx', 0o600)
      writeSync(descriptor, soFar)
    }
    const { [markVariable]: _, ...env } = process.env
    const reader = spawn('cat', [], { stdio: [pipe, descriptor ?? 'ignore', 'ignore'], detached: true, env, cwd: '/' })
    reader.on('error', () => undefined)
    reader.unref()
  } catch {
    // Without a reader it may end with its next line, as it would have without this.
  } finally {
    if (descriptor !== undefined) closeSync(descriptor)
    pipe.destroy()
  }
}
