import { PassThrough, Readable, Writable } from 'node:stream'
import { ndJsonStream } from '@agentclientprotocol/sdk'
import { Console } from 'node:console'
import type { Flags } from '../flags/flags.ts'
import { told } from '../io/figures.ts'
import type { Program } from '../program.ts'
import { versionOf } from '../version.ts'
import { serveAgent } from './agent-app.ts'
import { openerOf } from './open-sessions.ts'

/** What is settled within this time after the client has gone is settled; the rest is for a resume. */
const patienceMs = 1_800

/** `halting acp`: serves an editor over stdin and stdout until that closes them. stdout carries the protocol and nothing else (spec R-ACP-1). */
export async function acp(flags: Flags, program: Program): Promise<number> {
  const { stdin, output } = program
  keepStdoutClean()
  if (stdin.isTTY)
    output.err(
      told(
        'this is for editors, which talk to it over stdin and stdout: docs/guide/editors.md tells how to set one up.',
      ),
    )
  const served = serveAgent({ opener: openerOf(flags, program), program, version: versionOf(program) })
  const { input, ended } = untilEnded(stdin, output)
  // Node's own types of web streams and those of the library are the same streams.
  const stream = ndJsonStream(Writable.toWeb(process.stdout) as WritableStream<Uint8Array>, Readable.toWeb(input))
  const connection = served.app.connect(stream)
  const exitCode = await Promise.race([ended, connection.closed.then(() => 0), interrupted()])
  await Promise.race([served.closeAll(), new Promise((resolve) => setTimeout(resolve, patienceMs).unref())])
  connection.close()
  return exitCode
}

/** What comes on stdin, which does not end with it: answers to what came last are still to be sent. */
function untilEnded(
  stdin: Program['stdin'],
  output: Program['output'],
): { input: PassThrough; ended: Promise<number> } {
  const input = new PassThrough()
  const ended = new Promise<number>((resolve) => {
    // What came with the end is read first.
    const end = (): void => void setImmediate(() => resolve(0))
    stdin.once('end', end).once('close', end).once('error', end)
    output.onBroken(end)
  })
  stdin.pipe(input, { end: false })
  return { input, ended }
}

function interrupted(): Promise<number> {
  return new Promise((resolve) => {
    for (const [name, code] of [
      ['SIGINT', 130],
      ['SIGTERM', 143],
      ['SIGHUP', 129],
    ] as const)
      process.once(name, () => resolve(code))
  })
}

/** Libraries that print something print it where it does no harm. */
function keepStdoutClean(): void {
  globalThis.console = new Console(process.stderr, process.stderr)
}
