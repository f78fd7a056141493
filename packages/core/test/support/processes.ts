import { execFile } from 'node:child_process'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { inject } from 'vitest'

/** Core as JavaScript, as Node loads it. */
const built = (entry: string): string =>
  pathToFileURL(join(dirname(inject('program')), 'core', ...entry.split('/'))).href

export interface ProcessEnd {
  readonly exitCode: number | string | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs a separate program that uses core as any other program does, and waits for its end. A program that hangs is killed. */
export function runProgram(code: string, flags: readonly string[] = []): Promise<ProcessEnd> {
  const program = `
    import * as core from '${built('index.js')}'
    import * as entry from '${built('entries/steps.js')}'
    import * as testing from '${built('testing/index.js')}'
    import { writeSync } from 'node:fs'
    const say = (value) => writeSync(1, JSON.stringify(value) + '\\n')
    const tool = (name, execute, readOnly = true) => ({ name, description: name, inputSchema: { type: 'object' }, readOnly, execute })
    const calls = (...names) => ({ toolCalls: names.map((name, at) => ({ id: name + at, name, input: {} })) })
    const never = () => new Promise(() => {})
    ${code}
  `
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [...flags, '--input-type=module', '-e', program],
      { timeout: 60_000, killSignal: 'SIGKILL' },
      (error, stdout, stderr) =>
        resolve({ exitCode: error === null ? 0 : (error.code ?? error.signal ?? null), stdout, stderr }),
    )
  })
}

export function linesIn(stdout: string): readonly unknown[] {
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as unknown)
}
