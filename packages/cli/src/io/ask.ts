export interface AskedTerminal {
  readonly stdin: NodeJS.ReadStream
  readonly stderr: NodeJS.WritableStream
}

/** Asks a person for a line; '' when there is none, as after Ctrl-D. */
export async function askLine(question: string, { stdin, stderr }: AskedTerminal): Promise<string> {
  const { createInterface } = await import('node:readline/promises')
  const lines = createInterface({ input: stdin, output: stderr })
  const ended = new Promise<string>((resolve) => void lines.once('close', () => resolve('')))
  try {
    return (await Promise.race([lines.question(question), ended])).trim()
  } finally {
    lines.close()
  }
}

/** Anything but yes is no. */
export function isYes(answer: string): boolean {
  return /^y(?:es)?$/i.test(answer)
}
