import { afterEach } from 'vitest'
import { start, type Running } from './program.ts'

/** A running inspector. */
export interface RunningInspector {
  /** The address of its page, which it prints. */
  readonly address: string
  readonly program: Running
}

/** Starts `halting inspect` with arguments and variables. Each is stopped after its test, before earlier clean-up functions run. */
export function inspectorStarter(): (
  args?: readonly string[],
  env?: Readonly<Record<string, string>>,
) => Promise<RunningInspector> {
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
    await program.waitForOutput('\n')
    return { address: program.stdout().trimEnd(), program }
  }
}
