import type { Output } from './output.ts'
import type { Program } from '../program.ts'

/** The output and exit code of a command that ran without writing to the terminal. */
export interface CapturedOutput {
  readonly exitCode: number
  readonly out: string
  readonly err: string
}

/** Runs a command of the program, such as `halting why`, and returns its output instead of printing it. Rethrows what the command throws. */
export async function captureOutput(
  program: Program,
  { width, isStyled }: { readonly width: number; readonly isStyled: boolean },
  run: (program: Program) => Promise<number>,
): Promise<CapturedOutput> {
  const streams = { out: '', err: '' }
  const output: Output = {
    isTerminal: { stdout: isStyled, stderr: false },
    width,
    isLineTaken: false,
    broken: undefined,
    onBroken: () => undefined,
    out: (text) => void (streams.out += text),
    err: (text) => void (streams.err += text),
    redactWith: () => undefined,
    showLive: () => undefined,
    allowReaderToLeave: () => undefined,
    endLine: () => undefined,
    flush: () => Promise.resolve(),
  }
  const exitCode = await run({ ...program, output })
  return { exitCode, ...streams }
}
