// Replaces `http/node-transport.ts` on hosts without Node.
import { fetchTransport } from '../http/fetch-transport.ts'
import type { Transport } from '../http/transport.ts'

/**
 * Sends requests with the host's `fetch`, which must be called as a function: as a method of another object it throws.
 */
export const nodeTransport: Transport = fetchTransport((input, init) => fetch(input, init))
