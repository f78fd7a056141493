import { timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'

/** What a worker answers on its port to clients other than the engine. */
export interface Probes {
  readonly whyNotReady: () => Promise<string | undefined>
  /** What readiness does not cover, in words. */
  readonly unchecked: string | undefined
  readonly metrics: { readonly read: () => Promise<string>; readonly token?: string | null } | undefined
}

const knownPaths = 'GET /live, GET /ready, or GET /metrics.'
const loopback = /^(?:localhost|127(?:\.\d+){3}|\[::1\])(?::\d+)?$/

export async function answerProbe(request: IncomingMessage, response: ServerResponse, probes: Probes): Promise<void> {
  const send = (status: number, type: string, text: string): void => {
    response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' })
    response.end(text)
  }
  const sendJson = (status: number, body: object): void => send(status, 'application/json', `${JSON.stringify(body)}\n`)
  const { method, url } = request
  if (method !== 'GET' && method !== 'HEAD') return sendJson(405, { error: knownPaths })
  // An answer shows that the event loop runs.
  if (url === '/live') return sendJson(200, { live: true })
  if (url === '/ready') {
    const because = await probes.whyNotReady()
    const unchecked = probes.unchecked !== undefined && { unchecked: probes.unchecked }
    return because === undefined
      ? sendJson(200, { ready: true, ...unchecked })
      : sendJson(503, { ready: false, because, ...unchecked })
  }
  if (url !== '/metrics' || probes.metrics === undefined) return sendJson(404, { error: knownPaths })
  const refusal = refusalOf(request, probes.metrics.token)
  if (refusal !== undefined) return sendJson(refusal.status, { error: refusal.because })
  try {
    send(200, 'text/plain; version=0.0.4; charset=utf-8', await probes.metrics.read())
  } catch (error) {
    sendJson(500, { error: `The metrics cannot be read: ${String(error)}` })
  }
}

function refusalOf(
  { headers }: IncomingMessage,
  token: string | null | undefined,
): { readonly status: number; readonly because: string } | undefined {
  if (token === null)
    return {
      status: 403,
      because: 'Other machines can reach this worker, so its metrics need a token, and it has none.',
    }
  if (token !== undefined)
    return isSameText(headers.authorization ?? '', `Bearer ${token}`)
      ? undefined
      : { status: 401, because: 'Send the token of the worker: authorization: Bearer TOKEN' }
  // A web page whose domain resolves to this address must not read the metrics.
  return loopback.test(headers.host ?? '')
    ? undefined
    : { status: 403, because: 'Only this machine may read the metrics: use its loopback address.' }
}

function isSameText(actual: string, expected: string): boolean {
  const [one, other] = [Buffer.from(actual), Buffer.from(expected)]
  return one.length === other.length && timingSafeEqual(one, other)
}
