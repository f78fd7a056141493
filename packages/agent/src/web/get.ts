import { lookup as systemLookup, type LookupAddress } from 'node:dns'
import { type IncomingMessage, request as requestHttp, type RequestOptions } from 'node:http'
import type { LookupFunction, Socket } from 'node:net'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import type { Readable } from 'node:stream'
import { isPublicAddress } from '@halting/policy'
import type { Target } from './target.ts'
import { privateAddress } from './web-fetch-texts.ts'

/** Returns all addresses of a host name. */
export type Resolve = (host: string) => Promise<readonly LookupAddress[]>

export interface GetOptions {
  readonly signal: AbortSignal
  readonly maxBytes: number
  /** Default: the system's resolver. */
  readonly resolve?: Resolve
}

export interface Response {
  readonly status: number
  /** Empty if the server sends none. */
  readonly contentType: string
  readonly location: string | undefined
  readonly body: Buffer
  /** Whether there was more than the maximum. */
  readonly isCut: boolean
}

/** A host name has an address outside the public internet. */
export class PrivateAddressError extends Error {
  override readonly name = 'PrivateAddressError'

  constructor() {
    super(privateAddress)
  }
}

/**
 * Sends one request. Checks the addresses of the host when connecting, and the connected address again: a name that
 * resolves differently the second time gains nothing. All addresses must be public.
 */
export async function httpGet(
  target: Extract<Target, { readonly kind: 'target' }>,
  options: GetOptions,
): Promise<Response> {
  const { url, isPrivate } = target
  const request = url.protocol === 'https:' ? (await import('node:https')).request : requestHttp
  const { signal, maxBytes } = options
  const requestOptions: RequestOptions = {
    method: 'GET',
    signal,
    // Uses a separate connection: a connection that was opened for another name is not reused.
    agent: false,
    lookup: isPrivate ? undefined : guardedLookup(options.resolve),
    headers: {
      accept: 'text/markdown, text/html;q=0.9, text/*;q=0.8, application/json;q=0.8, */*;q=0.1',
      'accept-encoding': 'gzip,br,deflate',
      'user-agent': 'halting (coding agent)',
    },
  }
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const sent = request(url, requestOptions, resolve)
    sent.once('error', reject)
    sent.once('socket', (socket: Socket) =>
      socket.once('connect', () => {
        if (!isPrivate && !isPublicAddress(socket.remoteAddress ?? '')) sent.destroy(new PrivateAddressError())
      }),
    )
    sent.end()
  })
  const { statusCode: status = 0, headers } = response
  const isRedirect = status >= 300 && status < 400
  const about = { status, contentType: headers['content-type'] ?? '', location: headers.location }
  if (isRedirect) {
    response.destroy()
    return { ...about, body: Buffer.alloc(0), isCut: false }
  }
  try {
    return { ...about, ...(await bodyOf(decoded(response, headers['content-encoding']), maxBytes)) }
  } finally {
    response.destroy()
  }
}

function guardedLookup(resolve: Resolve | undefined): LookupFunction {
  return (host, { all, family, hints }, callback) => {
    const done = (error: Error | null, addresses: readonly LookupAddress[]): void => {
      if (error !== null) return callback(error, '')
      if (!addresses.every(({ address }) => isPublicAddress(address))) return callback(new PrivateAddressError(), '')
      const [first] = addresses
      if (first === undefined) return callback(new Error(`${host} has no address`), '')
      if (all === true) callback(null, [...addresses])
      else callback(null, first.address, first.family)
    }
    if (resolve === undefined) systemLookup(host, { family, hints, all: true }, done)
    else
      resolve(host).then(
        (addresses) => done(null, addresses),
        (error: unknown) => done(error instanceof Error ? error : new Error('not resolved'), []),
      )
  }
}

function decoded(response: IncomingMessage, encoding: string = 'identity'): Readable {
  const make = { gzip: createGunzip, 'x-gzip': createGunzip, br: createBrotliDecompress, deflate: createInflate }[
    encoding.trim().toLowerCase()
  ]
  if (make === undefined) return response
  const stream = make()
  response.once('error', (error) => stream.destroy(error))
  // A body that ends early is an error.
  response.once('aborted', () => stream.destroy(new Error('the connection broke')))
  return response.pipe(stream)
}

/** Returns the body, bounded after decompression: a small body may expand to gigabytes. */
async function bodyOf(stream: Readable, maxBytes: number): Promise<Pick<Response, 'body' | 'isCut'>> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    length += chunk.length
    if (length > maxBytes) break
  }
  return { body: Buffer.concat(chunks).subarray(0, maxBytes), isCut: length > maxBytes }
}
