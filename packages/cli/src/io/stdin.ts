import { UsageError } from '../usage-error.ts'
import type { Output } from './output.ts'
import { isEmptyInput } from './standard-input.ts'

/** How long to wait for a silent pipe if there is a prompt without it. */
const patienceMs = 3_000
const largestBytes = 10 * 1024 * 1024

/**
 * The piped input without trailing whitespace; '' for none.
 *
 * I1: a terminal is never read.
 * I2: with a prompt, a silent open pipe delays the run by at most 3 seconds, with a message.
 * I3: without a prompt, the pipe is read to its end; after 3 seconds of silence a message says what the program waits for.
 */
export async function readPiped(stdin: NodeJS.ReadStream, output: Output, hasPrompt: boolean): Promise<string> {
  if (stdin.isTTY || isEmptyInput(stdin)) return ''
  const chunks: Buffer[] = []
  let bytes = 0
  let isAbandoned = false
  const patience = setTimeout(() => {
    if (hasPrompt) {
      isAbandoned = true
      output.err('halting: no input on stdin for 3 s; continuing without it. Add < /dev/null to skip this wait.\n')
      stdin.destroy()
    } else output.err('halting: waiting for the prompt on stdin\n')
  }, patienceMs)
  try {
    for await (const chunk of stdin as AsyncIterable<Buffer>) {
      clearTimeout(patience)
      bytes += chunk.length
      if (bytes > largestBytes) {
        throw new UsageError('stdin has more than 10 MB. Put it in a file and name the file in the prompt.')
      }
      chunks.push(chunk)
    }
  } catch (thrown) {
    // An unreadable input (a directory, a broken socket) counts as empty. Leaving the loop early also raises an error.
    if (thrown instanceof UsageError) throw thrown
    if (!isAbandoned)
      output.err(`halting: stdin cannot be read (${thrown instanceof Error ? thrown.message : String(thrown)})\n`)
  } finally {
    clearTimeout(patience)
    stdin.destroy()
  }
  return Buffer.concat(chunks).toString().trimEnd()
}
