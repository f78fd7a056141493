import type { ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { StringDecoder } from 'node:string_decoder'
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client'
import type { Sandbox } from '@halting/policy/sandbox'
import { type PipedProcess, spawnPiped } from '@halting/policy'
import { endGroup, markVariable, processScanStart, type ProcessGroup } from '../tools/process-group.ts'
import type { ProcessTable } from '../tools/process-table.ts'
import type { StdioServer } from './config.ts'
import * as texts from './connection-texts.ts'
import { Flood } from './flood.ts'

export interface StdioPlace {
  readonly cwd: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly processes: ProcessTable
  readonly killGraceMs: number
  readonly messageBytes: number
  readonly sandbox?: Sandbox | undefined
}

/** Maximum length of the stored end of a server's stderr, which explains why the server exited. */
const storedStderrCharacters = 2_000
/** After the end of its stdin, a server has this long to exit before it receives SIGTERM. */
const leaveMs = 150

/**
 * A server's process, in its own process group. M1: a line longer than the message limit, or too many unsolicited
 * lines, end the connection. M2: `close` resolves when no process of the server is running. M3: if there is a sandbox
 * that cannot confine the server, it is not started.
 */
export class StdioTransport implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: JSONRPCMessage) => void
  readonly #server: StdioServer
  readonly #place: StdioPlace
  readonly #flood = new Flood()
  #child: PipedProcess | undefined
  #group: ProcessGroup | undefined
  #parts: Buffer[] = []
  #length = 0
  #stderr = ''
  #problem: string | undefined
  #isClosed = false

  constructor(server: StdioServer, place: StdioPlace) {
    this.#server = server
    this.#place = place
  }

  /** Why the server ended the connection. */
  get problem(): string | undefined {
    return this.#problem
  }

  /** The end of the server's stderr, in one line. */
  get lastWords(): string {
    return this.#stderr.trim().replace(/\s+/g, ' ').slice(-300)
  }

  async start(): Promise<void> {
    const mark = randomUUID()
    const started = processScanStart()
    const child = startServer(this.#server, this.#place, mark)
    this.#child = child
    const { pid } = child
    if (pid === undefined) {
      this.#isClosed = true
      throw await new Promise<Error>((resolve) => child.once('error', resolve))
    }
    this.#group = { groupId: pid, mark, knownBy: 'group', started }
    this.#place.processes.add(this.#group)
    child.on('error', (error) => this.onerror?.(error))
    child.once('exit', (code, signal) => this.#exited(code, signal))
    child.stdin.on('error', () => undefined)
    child.stdout.on('data', (chunk: Buffer) => this.#take(chunk))
    child.stdout.on('error', () => undefined)
    const decoder = new StringDecoder('utf8')
    child.stderr.on('data', (chunk: Buffer) => {
      this.#stderr = (this.#stderr + decoder.write(chunk)).slice(-storedStderrCharacters)
    })
    child.stderr.on('error', () => undefined)
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const child = this.#child
    if (child === undefined || this.#isClosed) throw new Error('The server is gone.')
    // A server that does not read does not block the caller: the response has a timeout.
    child.stdin.write(`${JSON.stringify(message)}\n`)
  }

  async close(): Promise<void> {
    const wasClosed = this.#isClosed
    this.#isClosed = true
    const [child, group] = [this.#child, this.#group]
    if (child !== undefined && group !== undefined) {
      child.stdin.end()
      if (child.exitCode === null && child.signalCode === null) await exitWithin(child, leaveMs)
      await this.#place.processes.end(group)
      for (const pipe of [child.stdin, child.stdout, child.stderr]) pipe.destroy()
    }
    if (!wasClosed) this.onclose?.()
  }

  #exited(code: number | null, signal: string | null): void {
    const group = this.#group
    if (group !== undefined && !this.#isClosed) {
      void this.#place.processes.release(group)
      // Ends the server's child processes too: nothing can use them any more.
      void endGroup({ ...group, knownBy: 'mark' }, this.#place.killGraceMs)
    }
    this.#fail(texts.serverEnded(signal ?? `exit code ${code}`))
  }

  #fail(problem: string): void {
    if (this.#isClosed) return
    this.#problem ??= problem
    void this.close()
  }

  #take(chunk: Buffer): void {
    let rest = chunk
    for (let end = rest.indexOf(10); end !== -1 && !this.#isClosed; end = rest.indexOf(10)) {
      this.#parts.push(rest.subarray(0, end))
      rest = rest.subarray(end + 1)
      const line = Buffer.concat(this.#parts).toString('utf8')
      this.#parts = []
      this.#length = 0
      this.#line(line)
    }
    if (this.#isClosed || rest.length === 0) return
    this.#parts.push(rest)
    this.#length += rest.length
    if (this.#length > this.#place.messageBytes) this.#fail(texts.largeMessage)
  }

  #line(line: string): void {
    if (line.trim() === '') return
    const message = messageIn(line)
    const kind = message === undefined ? 'noise' : 'id' in message && !('method' in message) ? 'answer' : 'unasked'
    if (!this.#flood.accepts(kind, line.length)) return this.#fail(texts.floods)
    if (message !== undefined) this.onmessage?.(message)
  }
}

/** Parses a line. Some servers write messages for users to stdout; such lines are skipped. */
function messageIn(line: string): JSONRPCMessage | undefined {
  try {
    const value: unknown = JSON.parse(line)
    const isMessage = typeof value === 'object' && value !== null && 'jsonrpc' in value && value.jsonrpc === '2.0'
    // The client checks the rest of the message.
    return isMessage ? (value as JSONRPCMessage) : undefined
  } catch {
    return undefined
  }
}

/** @throws SandboxError for a server that cannot be confined. */
function startServer({ command, args, env }: StdioServer, place: StdioPlace, mark: string): PipedProcess {
  const { cwd, sandbox } = place
  const outer = place.env[markVariable]
  const all = { ...place.env, ...env, [markVariable]: outer === undefined ? mark : `${outer},${mark}` }
  return spawnPiped(
    { file: command, args, cwd, env: all },
    sandbox === undefined ? undefined : { sandbox, described: sandbox.describe('project') },
  )
}

function exitWithin(child: ChildProcess, limitMs: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, limitMs)
    child.once('exit', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}
