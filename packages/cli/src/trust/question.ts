import type { Offer } from '@halting/agent'
import { many, oneLine } from '../io/figures.ts'

const shownAtMost = 200

/** What trusting a folder would have run and loosened, a line each. Text of the project steers no terminal. */
export function offersText(folder: string, offers: readonly Offer[]): string {
  if (offers.length === 0) return `The settings of ${oneLine(folder, 300)} run nothing and loosen nothing.\n`
  const shown = offers.slice(0, shownAtMost)
  const width = Math.max(...shown.map(({ setting }) => setting.length))
  const left = offers.length - shown.length
  return [
    `The settings of ${oneLine(folder, 300)} would have this run or count:`,
    ...shown.map(({ setting, text, needsNaming }) => {
      // Nothing of it may be out of sight: a long command is cut where it is told that it is.
      const line = oneLine(text, 2_000)
      return `  ${needsNaming ? '!' : ' '} ${setting.padEnd(width)}  ${line}`
    }),
    ...(left > 0 ? [`  and ${many(left, 'more setting')}: halting trust --json tells all of them.`] : []),
    ...(offers.some(({ needsNaming }) => needsNaming)
      ? ['! can make other programs run, load or send something, or takes away what asks.']
      : []),
    '',
  ].join('\n')
}

export interface Terminal {
  readonly stdin: NodeJS.ReadStream
  readonly stderr: NodeJS.WritableStream
}

/** Asks a person; anything but yes is no. */
export async function askTrust({ stdin, stderr }: Terminal): Promise<boolean> {
  const { createInterface } = await import('node:readline/promises')
  const lines = createInterface({ input: stdin, output: stderr })
  const ended = new Promise<string>((resolve) => void lines.once('close', () => resolve('')))
  try {
    const answer = await Promise.race([
      lines.question('Trust this folder, and have what is listed count from now on? [y/N] '),
      ended,
    ])
    return /^\s*y(?:es)?\s*$/i.test(answer)
  } finally {
    lines.close()
  }
}
