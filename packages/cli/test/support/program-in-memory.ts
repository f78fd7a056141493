import { PassThrough } from 'node:stream'
import type { Output } from '../../src/io/output.ts'
import type { Program } from '../../src/program.ts'

interface Around {
  readonly cwd: string
  readonly env: Program['env']
  readonly isTerminal?: boolean
}

/** The program's environment in memory: stdin, output, and a reader that can disconnect. */
export interface ProgramInMemory extends Program {
  readonly stdin: Program['stdin'] & PassThrough
  /** All output on stdout. */
  readonly written: () => string
  /** The reader of stdout disconnects: later output is dropped, as in a pipe. */
  readonly readerGoes: () => void
}

export function programInMemory({ cwd, env, isTerminal = false }: Around): ProgramInMemory {
  let written = ''
  let broken: Output['broken']
  const listeners: (() => void)[] = []
  return {
    argv: [],
    env,
    cwd,
    // True unless it is asked whether it is a terminal: it is read as a stream.
    stdin: new PassThrough() as unknown as ProgramInMemory['stdin'],
    output: {
      isTerminal: { stdout: isTerminal, stderr: isTerminal },
      width: 80,
      isLineTaken: false,
      get broken() {
        return broken
      },
      onBroken: (listener) => void listeners.push(listener),
      out: (text) => {
        if (broken === undefined) written += text
      },
      err: () => undefined,
      redactWith: () => undefined,
      showLive: () => undefined,
      allowReaderToLeave: () => undefined,
      endLine: () => undefined,
      flush: () => Promise.resolve(),
    },
    home: new URL('../../', import.meta.url),
    written: () => written,
    readerGoes: () => {
      broken = 'reader gone'
      for (const listener of listeners.splice(0)) listener()
    },
  }
}
