import { Writable } from 'node:stream'
import { MessageTooLargeError, ndJsonStream, type AnyMessage } from '@agentclientprotocol/sdk'
import { Console } from 'node:console'
import { createKeyRedactor } from '@halting/models'
import type { Flags } from '../flags/flags.ts'
import { signalExitCodes } from '../io/exit-codes.ts'
import { told } from '../io/figures.ts'
import type { Program } from '../program.ts'
import { versionOf } from '../version.ts'
import { serveAgent } from './agent-app.ts'
import { openerOf } from './open-sessions.ts'
import { redactedValue } from '@halting/agent'

/** What is settled within this time after the client has gone is settled; the rest is for a resume. */
const patienceMs = 1_800

/** `halting acp`: serves an editor over stdin and stdout until that closes them. stdout carries the protocol and nothing else (spec R-ACP-1). */
export async function acp(flags: Flags, program: Program): Promise<number> {
  const { stdin, output } = program
  redirectConsoleToStderr()
  if (stdin.isTTY)
    output.err(
      told(
        'this command is for editors, which talk to it over stdin and stdout. For the setup, see docs/guide/editors.md.',
      ),
    )
  const opener = await openerOf(flags, program)
  const served = serveAgent({ opener, program, version: versionOf(program) })
  const { input, ended } = trackEndOfInput(stdin, output)
  // Node's own type of web streams and that of the library are the same streams.
  const { readable, writable } = ndJsonStream(Writable.toWeb(process.stdout) as WritableStream<Uint8Array>, input)
  const depthLimited = depthLimitStream((message) => output.out(`${JSON.stringify(message)}\n`))
  const redacted = redactionStream(createKeyRedactor(program.env))
  void redacted.readable.pipeTo(writable).catch(() => undefined)
  const connection = served.app.connect({ readable: readable.pipeThrough(depthLimited), writable: redacted.writable })
  const exitCode = await Promise.race([
    ended,
    connection.closed.then(() => connectionExitCode(connection.signal.reason, output)),
    interrupted().then((code) => {
      for (const line of opener.exitNotes?.() ?? []) output.err(told(line))
      return code
    }),
  ])
  await Promise.race([served.closeAll(), new Promise((resolve) => setTimeout(resolve, patienceMs))])
  connection.close()
  return exitCode
}

/** A client that is gone has nothing to be told. What comes behind a message that is too large cannot be read. */
function connectionExitCode(reason: unknown, output: Program['output']): number {
  if (!(reason instanceof MessageTooLargeError)) return 0
  const limit = `${reason.maxMessageBytes / 1024 / 1024} MiB`
  output.err(told(`the editor sent a message of more than ${limit}, which cannot be read. Open the sessions again.`))
  return 1
}

interface Input {
  readonly input: ReadableStream<Uint8Array>
  readonly ended: Promise<number>
}

/** What comes on stdin, which does not end with it: answers to what came last are still to be sent. */
function trackEndOfInput(stdin: Program['stdin'], output: Program['output']): Input {
  // Without an encoding there are bytes in it.
  const chunks: AsyncIterator<Uint8Array> = stdin[Symbol.asyncIterator]()
  let end = (): void => undefined
  const ended = new Promise<number>((resolve) => {
    // What came with the end is read first.
    end = () => void setImmediate(() => resolve(0))
  })
  output.onBroken(end)
  const input = new ReadableStream<Uint8Array>({
    async pull(controller) {
      // A pipe that breaks has ended.
      const next = await chunks.next().catch(() => undefined)
      if (next === undefined || next.done === true) end()
      else controller.enqueue(next.value)
    },
  })
  return { input, ended }
}

function interrupted(): Promise<number> {
  return new Promise((resolve) => {
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
      process.once(name, () => resolve(signalExitCodes[name]))
  })
}

/** Libraries that print something print it where it does no harm. */
function redirectConsoleToStderr(): void {
  globalThis.console = new Console(process.stderr, process.stderr)
}

/** Deeper than any message is. What looks at values and writes them calls itself for each level. */
const maxLevels = 500

/**
 * Messages that are nested within reason. One that is not would end the connection: it is answered here with an error, and what comes after it is read
 * (spec R-ACP-1a).
 */
function depthLimitStream(answer: (message: object) => void): TransformStream<AnyMessage, AnyMessage> {
  return new TransformStream({
    transform(message, controller) {
      if (!isTooDeep(message)) {
        controller.enqueue(message)
        return
      }
      const given = 'id' in message ? message.id : undefined
      const id = typeof given === 'string' || typeof given === 'number' ? given : null
      const error = { code: -32600, message: `Invalid request: it is nested more than ${maxLevels} levels deep.` }
      if ('method' in message) answer({ jsonrpc: '2.0', id, error })
      // Whoever waits for an answer has none otherwise.
      else controller.enqueue({ jsonrpc: '2.0', id, error })
    },
  })
}

/** Level by level: a function that called itself would not come back. */
function isTooDeep(message: object): boolean {
  let level: readonly object[] = [message]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > maxLevels) return true
    level = level.flatMap((value) => Object.values(value).filter(isObject))
  }
  return false
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

/**
 * Messages to the client without the keys that this program itself uses: the door of this frontend, as `Output.out` is that of the others. What is
 * written to a file of the person through the client stays as it is.
 */
export function redactionStream(redact: (text: string) => string): TransformStream<AnyMessage, AnyMessage> {
  return new TransformStream({
    transform(message, controller) {
      const isFile = 'method' in message && message.method === 'fs/write_text_file'
      controller.enqueue(isFile ? message : redactedValue(message, redact))
    },
  })
}
