import { UsageError } from '../usage-error.ts'
import type { Output } from './output.ts'
import { isEmptyInput } from './standard-input.ts'

/** How long a pipe that says nothing is waited for when there is a prompt without it. */
const patienceMs = 3_000
const largestBytes = 10 * 1024 * 1024

/**
 * What is piped in, trimmed at its end; '' when there is nothing.
 *
 * I1: a terminal is never read.
 * I2: when there is a prompt already, an open pipe that says nothing costs at most 3 seconds, and it is told.
 * I3: without a prompt it is read to its end; after 3 seconds of silence it is told what is waited for.
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
    // What cannot be read (a directory, a socket that broke) has nothing to say; leaving early ends the iteration with an error, too.
    if (thrown instanceof UsageError) throw thrown
    if (!isAbandoned)
      output.err(`halting: stdin cannot be read (${thrown instanceof Error ? thrown.message : String(thrown)})\n`)
  } finally {
    clearTimeout(patience)
    stdin.destroy()
  }
  return Buffer.concat(chunks).toString().trimEnd()
}
