import { InterruptedError } from '../interrupted-error.ts'

export interface QuestionTerminal {
  readonly stdin: NodeJS.ReadStream
  readonly stderr: NodeJS.WritableStream
}

/**
 * Asks a person for a line; undefined when there is none, as after Ctrl+D.
 * @throws InterruptedError after Ctrl+C: that is no answer.
 */
export async function askLine(question: string, { stdin, stderr }: QuestionTerminal): Promise<string | undefined> {
  // Nothing would tell of an end that was before.
  if (stdin.readableEnded) return undefined
  const { createInterface } = await import('node:readline/promises')
  const lines = createInterface({ input: stdin, output: stderr })
  // The last line may come with the end: it is an answer then.
  const ended = new Promise<undefined>((resolve) => {
    lines.once('close', () => setImmediate(() => resolve(undefined)))
  })
  const interrupted = new Promise<never>((_resolve, reject) => {
    lines.once('SIGINT', () => reject(new InterruptedError()))
  })
  // It rejects when the interface is closed.
  const answered = lines.question(question).catch(() => undefined)
  try {
    return (await Promise.race([answered, ended, interrupted]))?.trim()
  } catch (thrown) {
    // The shell writes on a line of its own.
    stderr.write('\n')
    throw thrown
  } finally {
    lines.close()
  }
}

/** Anything but yes is no. */
export function isYes(answer: string | undefined): boolean {
  return /^y(?:es)?$/i.test(answer ?? '')
}
