import { Writable } from 'node:stream'
import { MessageTooLargeError, ndJsonStream, type AnyMessage } from '@agentclientprotocol/sdk'
import { Console } from 'node:console'
import { createKeyRedactor } from '@halting/models'
import type { Flags } from '../flags/flags.ts'
import { signalExitCodes } from '../io/exit-codes.ts'
import { programMessage } from '../io/figures.ts'
import type { Program } from '../program.ts'
import { versionOf } from '../version.ts'
import { serveAgent } from './agent-app.ts'
import { openerOf } from './open-sessions.ts'
import { redactedValue } from '@halting/agent'

/** Time in milliseconds that sessions have to close after the client disconnects; a later resume completes the rest. */
const patienceMs = 1_800

/** `halting acp`: serves an editor over stdin and stdout until it closes them. stdout carries only the protocol (spec R-ACP-1). */
export async function acp(flags: Flags, program: Program): Promise<number> {
  const { stdin, output } = program
  redirectConsoleToStderr()
  if (stdin.isTTY)
    output.err(
      programMessage(
        'this command is for editors, which talk to it over stdin and stdout. For the setup, see docs/guide/editors.md.',
      ),
    )
  const opener = await openerOf(flags, program)
  const served = serveAgent({ opener, program, version: versionOf(program) })
  const { input, ended } = trackEndOfInput(stdin, output)
  // This cast is safe: Node and the library type the same web streams differently.
  const { readable, writable } = ndJsonStream(Writable.toWeb(process.stdout) as WritableStream<Uint8Array>, input)
  const depthLimited = depthLimitStream((message) => output.out(`${JSON.stringify(message)}\n`))
  const redacted = redactionStream(createKeyRedactor(program.env))
  void redacted.readable.pipeTo(writable).catch(() => undefined)
  const connection = served.app.connect({ readable: readable.pipeThrough(depthLimited), writable: redacted.writable })
  const exitCode = await Promise.race([
    ended,
    connection.closed.then(() => connectionExitCode(connection.signal.reason, output)),
    interrupted().then((code) => {
      for (const line of opener.exitNotes?.() ?? []) output.err(programMessage(line))
      return code
    }),
  ])
  await Promise.race([served.closeAll(), new Promise((resolve) => setTimeout(resolve, patienceMs))])
  connection.close()
  return exitCode
}

/** The exit code when the connection closes. After a message that is too large, the rest of the stream cannot be read. */
function connectionExitCode(reason: unknown, output: Program['output']): number {
  if (!(reason instanceof MessageTooLargeError)) return 0
  const limit = `${reason.maxMessageBytes / 1024 / 1024} MiB`
  output.err(
    programMessage(`the editor sent a message of more than ${limit}, which cannot be read. Open the sessions again.`),
  )
  return 1
}

interface Input {
  readonly input: ReadableStream<Uint8Array>
  readonly ended: Promise<number>
}

/** The stream of stdin, which stays open after its end so that pending responses can be sent. */
function trackEndOfInput(stdin: Program['stdin'], output: Program['output']): Input {
  // This cast is safe: without an encoding, the chunks are bytes.
  const chunks: AsyncIterator<Uint8Array> = stdin[Symbol.asyncIterator]()
  let end = (): void => undefined
  const ended = new Promise<number>((resolve) => {
    // Input that arrived together with the end is read first.
    end = () => void setImmediate(() => resolve(0))
  })
  output.onBroken(end)
  const input = new ReadableStream<Uint8Array>({
    async pull(controller) {
      // A broken pipe counts as ended.
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

/** Redirects the output of libraries from stdout to stderr. */
function redirectConsoleToStderr(): void {
  globalThis.console = new Console(process.stderr, process.stderr)
}

/** Maximum nesting depth; no real message is deeper. Code that walks or serializes values recurses for each level. */
const maxLevels = 500

/**
 * Rejects messages that are nested too deeply, which would otherwise end the connection. Such a message is answered with an error, and the next ones are
 * read (spec R-ACP-1a).
 */
function depthLimitStream(answer: (message: object) => void): TransformStream<AnyMessage, AnyMessage> {
  return new TransformStream({
    transform(message, controller) {
      if (!isTooDeep(message)) {
        controller.enqueue(message)
        return
      }
      const messageId = 'id' in message ? message.id : undefined
      const id = typeof messageId === 'string' || typeof messageId === 'number' ? messageId : null
      const error = { code: -32600, message: `Invalid request: it is nested more than ${maxLevels} levels deep.` }
      if ('method' in message) answer({ jsonrpc: '2.0', id, error })
      // Without an answer, the sender would wait for a response forever.
      else controller.enqueue({ jsonrpc: '2.0', id, error })
    },
  })
}

/** Iterative, because recursion would overflow the stack. */
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
 * Removes the program's own keys from all messages to the client, as `Output` does for the other frontends. Content that the client writes to a file stays
 * unchanged.
 */
export function redactionStream(redact: (text: string) => string): TransformStream<AnyMessage, AnyMessage> {
  return new TransformStream({
    transform(message, controller) {
      const isFile = 'method' in message && message.method === 'fs/write_text_file'
      controller.enqueue(isFile ? message : redactedValue(message, redact))
    },
  })
}
