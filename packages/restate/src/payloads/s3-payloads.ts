import { ConfigurationError, HaltingError } from '@halting/core'
import { messageOf } from '@halting/core/adapters'
import { AwsClient } from 'aws4fetch'
import { defaultInlineBytes, folderNameOf, referenceTo, verifiedText } from './payload-hash.ts'
import type { PayloadStore, PayloadStores } from './payload-store.ts'

/** Options of a payload store in an S3 bucket. */
export interface S3PayloadsOptions {
  /** The address of the bucket, such as `https://NAME.s3.eu-west-1.amazonaws.com` or, of other services, `https://HOST/NAME`. */
  readonly bucketUrl: string
  /** Id of the access key. */
  readonly accessKeyId: string
  /** The secret of the access key. */
  readonly secretAccessKey: string
  /** Token of temporary credentials. */
  readonly sessionToken?: string
  /** Region of the bucket. Default: from the address of Amazon's service, otherwise `us-east-1`. */
  readonly region?: string
  /** Prefix of the names of all objects, such as `halting/`. */
  readonly prefix?: string
  /** Maximum size of inline texts, in bytes. Default: 256 KiB. */
  readonly inlineBytes?: number
  /** Maximum number of attempts of a request. Default: 5. */
  readonly attempts?: number
  /** Pause before the second attempt, in milliseconds; each later pause is twice as long. Default: 200. */
  readonly pauseMs?: number
  /** Makes the requests. Default: the `fetch` of the runtime. */
  readonly fetch?: typeof fetch
}

/** Maximum duration of one attempt. */
const patienceMs = 60_000

/** Stores payloads as objects in a bucket of S3 or a compatible service, named like files: session, then SHA-256. */
export function s3Payloads(options: S3PayloadsOptions): PayloadStores {
  const bucket = new Bucket(options)
  const { inlineBytes = defaultInlineBytes, prefix = '' } = options
  return { of: (sessionId) => storeIn(bucket, `${prefix}${folderNameOf(sessionId)}/`, inlineBytes) }
}

function storeIn(bucket: Bucket, prefix: string, inlineBytes: number): PayloadStore {
  return {
    inlineBytes,
    async put(text) {
      const content = Buffer.from(text)
      const reference = referenceTo(content)
      // The service refuses a body that does not match the signature.
      const headers = { 'x-amz-content-sha256': reference.sha256 }
      await bucket.ask({ method: 'PUT', name: `${prefix}${reference.sha256}`, body: content, headers }, async () => {})
      return reference
    },
    async get(reference) {
      const name = `${prefix}${reference.sha256}`
      return bucket.ask({ method: 'GET', name }, async (response) =>
        verifiedText(new Uint8Array(await response.arrayBuffer()), reference, name),
      )
    },
    async remove() {
      for (let names = await bucket.list(prefix), before = ''; names.length > 0; names = await bucket.list(prefix)) {
        if (names[0] === before) throw new HaltingError('driver', `Cannot remove ${prefix}${before} from the bucket.`)
        before = names[0] ?? ''
        for (const name of names) await bucket.ask({ method: 'DELETE', name: `${prefix}${name}` }, async () => {})
      }
    },
  }
}

interface BucketRequest {
  readonly method: string
  /** Name of the object; absent for the bucket. */
  readonly name?: string
  readonly query?: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Uint8Array<ArrayBuffer>
}

class Bucket {
  readonly #url: string
  readonly #client: AwsClient
  readonly #attempts: number
  readonly #pauseMs: number
  readonly #fetch: typeof fetch

  constructor(options: S3PayloadsOptions) {
    const { bucketUrl, accessKeyId, secretAccessKey, sessionToken } = options
    if (!URL.canParse(bucketUrl)) throw new ConfigurationError(`"${bucketUrl}" is not a valid bucket address.`)
    if (accessKeyId === '' || secretAccessKey === '')
      throw new ConfigurationError('A bucket needs accessKeyId and secretAccessKey.')
    this.#url = bucketUrl.replace(/\/+$/, '')
    this.#client = new AwsClient({
      accessKeyId,
      secretAccessKey,
      service: 's3',
      ...(sessionToken !== undefined && { sessionToken }),
      ...(options.region !== undefined && { region: options.region }),
    })
    this.#attempts = options.attempts ?? 5
    this.#pauseMs = options.pauseMs ?? 200
    this.#fetch = options.fetch ?? fetch
  }

  /** Names of objects with this prefix, without the prefix; at most a thousand. */
  list(prefix: string): Promise<readonly string[]> {
    const query = { 'list-type': '2', prefix }
    return this.ask({ method: 'GET', query }, async (response) => {
      const found = (await response.text()).matchAll(/<Key>[^<]*\/([0-9a-f]{64})<\/Key>/g)
      return [...found].map(([, name = '']) => name)
    })
  }

  /** Sends a request. Retries if the service is busy, does not answer, or returns something else than what was stored. */
  async ask<T>(request: BucketRequest, read: (response: Response) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      const outcome = await this.#attempt(request, read)
      if (outcome.kind === 'done') return outcome.value
      if (!outcome.mayRetry || attempt >= this.#attempts) {
        const { method, name = '' } = request
        throw new HaltingError('driver', `${method} ${name} failed in the bucket: ${outcome.why}`)
      }
      await new Promise((resolve) => setTimeout(resolve, this.#pauseMs * 2 ** (attempt - 1)))
    }
  }

  async #attempt<T>(
    { method, name, query = {}, headers = {}, body }: BucketRequest,
    read: (response: Response) => Promise<T>,
  ): Promise<
    | { readonly kind: 'done'; readonly value: T }
    | { readonly kind: 'failed'; readonly why: string; readonly mayRetry: boolean }
  > {
    try {
      const url = new URL(name === undefined ? this.#url : `${this.#url}/${name}`)
      for (const [key, value] of Object.entries(query)) url.searchParams.set(key, value)
      const signed = await this.#client.sign(url, { method, headers, ...(body !== undefined && { body }) })
      const response = await this.#fetch(signed, { signal: AbortSignal.timeout(patienceMs) })
      if (response.ok) return { kind: 'done', value: await read(response) }
      const { status } = response
      const why = `${status} ${(await response.text()).slice(0, 500)}`.trim()
      return { kind: 'failed', why, mayRetry: status === 429 || status >= 500 }
    } catch (error) {
      return { kind: 'failed', why: messageOf(error), mayRetry: true }
    }
  }
}
