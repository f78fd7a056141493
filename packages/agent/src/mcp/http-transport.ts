import {
  type JSONRPCMessage,
  StreamableHTTPClientTransport,
  type TransportSendOptions,
} from '@modelcontextprotocol/client'
import { connectionEnded } from './mcp-texts.ts'

/** Streamable HTTP, where a request whose stream ended without an answer is answered: nobody would wait for less than the time of a call. */
export class HttpTransport extends StreamableHTTPClientTransport {
  override async send(message: JSONRPCMessage | JSONRPCMessage[], options: TransportSendOptions = {}): Promise<void> {
    const onRequestStreamEnd = (): void => {
      options.onRequestStreamEnd?.()
      for (const { id } of requestsIn(message))
        // An answer that has come is the one that counts: the client passes over a second one.
        this.onmessage?.({ jsonrpc: '2.0', id, error: { code: connectionClosed, message: connectionEnded } })
    }
    return super.send(message, { ...options, onRequestStreamEnd })
  }
}

const connectionClosed = -32_000

function requestsIn(message: JSONRPCMessage | JSONRPCMessage[]): readonly { readonly id: string | number }[] {
  const all = Array.isArray(message) ? message : [message]
  return all.flatMap((one) => ('method' in one && 'id' in one ? [{ id: one.id }] : []))
}
