import { subscribe } from 'node:diagnostics_channel'
import { Socket } from 'node:net'

/**
 * Has Node's HTTP client pass over a `100 Continue` that nobody asked for: it takes one for a fault and closes the
 * connection, though the answer follows (RFC 9110, 15.2). Only sockets that carry requests of ours are looked at, and
 * of what comes on them only the beginning of an answer.
 */
export function passOverContinues(): void {
  if (isListening) return
  isListening = true
  // The client tells here, among other things, whenever the head of a request goes out.
  subscribe('undici:client:sendHeaders', (told) => {
    const { socket, headers } = told as { readonly socket?: unknown; readonly headers?: unknown }
    if (!(socket instanceof Socket) || typeof headers !== 'string' || !headers.includes('idempotency-key: ')) return
    const opening = openings.get(socket) ?? watch(socket)
    opening.awaits()
  })
}

let isListening = false

interface Opening {
  /** An answer is to begin. */
  awaits(): void
}

const openings = new WeakMap<Socket, Opening>()

function watch(socket: Socket): Opening {
  const read = socket.read.bind(socket)
  let held: Buffer | undefined
  socket.read = (size?: number): unknown => {
    for (;;) {
      const piece: unknown = read(size)
      if (held === undefined || !(piece instanceof Buffer)) return piece
      const rest = withoutContinues(Buffer.concat([held, piece]))
      held = rest.isUndecided ? rest.bytes : undefined
      if (!rest.isUndecided) return rest.bytes
    }
  }
  const opening: Opening = { awaits: () => void (held = Buffer.alloc(0)) }
  openings.set(socket, opening)
  return opening
}

const opener = 'HTTP/1.1 100'
/** No such answer is longer. */
const longestContinue = 8_192

/** What is left of these bytes; undecided while they may be the beginning of such an answer. */
function withoutContinues(bytes: Buffer): { readonly bytes: Buffer; readonly isUndecided: boolean } {
  let left = bytes
  while (left.length > 0) {
    const start = left.toString('latin1', 0, opener.length)
    if (!start.startsWith(opener)) return { bytes: left, isUndecided: opener.startsWith(start) }
    const end = left.indexOf('\r\n\r\n', 0, 'latin1')
    if (end < 0) return { bytes: left, isUndecided: left.length < longestContinue }
    left = left.subarray(end + 4)
  }
  return { bytes: left, isUndecided: true }
}
