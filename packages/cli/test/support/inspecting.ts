import { afterEach } from 'vitest'
import { start, type Running } from './program.ts'

/** An inspector that serves. */
export interface Inspecting {
  /** What it prints: the address of its page. */
  readonly address: string
  readonly program: Running
}

/** Starts `halting inspect` with arguments and variables. Each is ended after its test; what is said first to be done after a test is done behind that. */
export function withInspecting(): (
  args?: readonly string[],
  env?: Readonly<Record<string, string>>,
) => Promise<Inspecting> {
  const running: Running[] = []
  afterEach(async () => {
    for (const { child, ended } of running.splice(0)) {
      child.kill('SIGINT')
      await ended
    }
  })
  return async (args = [], env = {}) => {
    const program = start(['inspect', ...args], { env })
    running.push(program)
    await program.says('\n')
    return { address: program.stdout().trimEnd(), program }
  }
}
