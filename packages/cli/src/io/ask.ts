import { InterruptedError } from '../interrupted-error.ts'

export interface QuestionTerminal {
  readonly stdin: NodeJS.ReadStream
  readonly stderr: NodeJS.WritableStream
}

/**
 * Asks a person for one line; undefined if the input ends, as after Ctrl+D.
 * @throws InterruptedError after Ctrl+C.
 */
export async function askLine(question: string, { stdin, stderr }: QuestionTerminal): Promise<string | undefined> {
  // The stream would never report an end that happened earlier.
  if (stdin.readableEnded) return undefined
  const { createInterface } = await import('node:readline/promises')
  const lines = createInterface({ input: stdin, output: stderr })
  // The last line may arrive together with the end of the input, and is an answer.
  const ended = new Promise<undefined>((resolve) => {
    lines.once('close', () => setImmediate(() => resolve(undefined)))
  })
  const interrupted = new Promise<never>((_resolve, reject) => {
    lines.once('SIGINT', () => reject(new InterruptedError()))
  })
  // The promise rejects when the interface is closed.
  const answered = lines.question(question).catch(() => undefined)
  try {
    return (await Promise.race([answered, ended, interrupted]))?.trim()
  } catch (thrown) {
    // Writes a line feed, so that the shell prompt starts on a new line.
    stderr.write('\n')
    throw thrown
  } finally {
    lines.close()
  }
}

/** Anything but yes means no. */
export function isYes(answer: string | undefined): boolean {
  return /^y(?:es)?$/i.test(answer ?? '')
}
