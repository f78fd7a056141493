// In the place of `http/node-transport.ts`, where there is no Node.
import { fetchTransport } from '../http/fetch-transport.ts'
import type { Transport } from '../http/transport.ts'

/** Requests by the `fetch` of the host. It is called as a function of the host: as a method of something else it refuses. */
export const nodeTransport: Transport = fetchTransport((input, init) => fetch(input, init))
