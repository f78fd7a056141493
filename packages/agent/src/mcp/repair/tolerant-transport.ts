import type { JSONRPCMessage, MessageExtraInfo, Transport, TransportSendOptions } from '@modelcontextprotocol/client'
import { isJsonObject } from '@halting/core/adapters'
import { repairCallResult, repairPrompt, repairResourceContents } from './content-blocks.ts'
import type { Repair } from './reports.ts'
import { repairHandshake, repairPrompts, repairResources, repairTemplates, repairTools } from './offered-lists.ts'

const repairs: ReadonlyMap<string, Repair> = new Map([
  ['initialize', repairHandshake],
  ['server/discover', repairHandshake],
  ['tools/list', repairTools],
  ['prompts/list', repairPrompts],
  ['resources/list', repairResources],
  ['resources/templates/list', repairTemplates],
  ['tools/call', repairCallResult],
  ['prompts/get', repairPrompt],
  ['resources/read', repairResourceContents],
])

// Spec R-MCP-19.
/**
 * A transport between the client and the server's transport. The client rejects a whole result for one invalid part,
 * so every result is repaired before the client receives it.
 */
export class TolerantTransport implements Transport {
  /** Whether the server's transport stays open after `close`, for the next client. */
  staysOpen = false
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: NonNullable<Transport['onmessage']>
  readonly #inner: Transport
  readonly #report: (method: string, problem: string) => void
  #started: Promise<void> | undefined
  /** Methods of requests that have no response yet. */
  readonly #methods = new Map<string | number, string>()

  constructor(inner: Transport, report: (method: string, problem: string) => void) {
    this.#inner = inner
    this.#report = report
    const received = (message: JSONRPCMessage, extra?: MessageExtraInfo): void =>
      this.onmessage?.(this.#repaired(message), extra)
    Object.assign(inner, {
      onclose: () => this.onclose?.(),
      onerror: (error: Error) => this.onerror?.(error),
      onmessage: received,
    })
  }

  get sessionId(): string | undefined {
    return this.#inner.sessionId
  }

  get hasPerRequestStream(): boolean {
    return this.#inner.hasPerRequestStream === true
  }

  start(): Promise<void> {
    this.#started ??= this.#inner.start()
    return this.#started
  }

  /** Prepares the transport for another client. */
  reset(): void {
    this.#methods.clear()
    Object.assign(this, { onclose: undefined, onerror: undefined, onmessage: undefined })
  }

  send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    if ('method' in message && 'id' in message && repairs.has(message.method))
      this.#methods.set(message.id, message.method)
    // A cancelled request gets no response.
    else if ('method' in message && message.method === 'notifications/cancelled') {
      const { requestId } = isJsonObject(message.params) ? message.params : {}
      if (typeof requestId === 'string' || typeof requestId === 'number') this.#methods.delete(requestId)
    }
    return this.#inner.send(message, options)
  }

  async close(): Promise<void> {
    if (this.staysOpen) this.onclose?.()
    else await this.#inner.close()
  }

  setProtocolVersion(version: string): void {
    this.#inner.setProtocolVersion?.(version)
  }

  setSupportedProtocolVersions(versions: string[]): void {
    this.#inner.setSupportedProtocolVersions?.(versions)
  }

  #repaired(message: JSONRPCMessage): JSONRPCMessage {
    if ('method' in message || message.id === undefined) return message
    const method = this.#methods.get(message.id)
    if (method === undefined) return message
    this.#methods.delete(message.id)
    const repair = repairs.get(method)
    if (repair === undefined || !('result' in message) || !isJsonObject(message.result)) return message
    return { ...message, result: repair(message.result, (problem) => this.#report(method, problem)) }
  }
}
