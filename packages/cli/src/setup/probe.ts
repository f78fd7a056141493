import { request } from 'node:http'
import { isJsonObject } from '@halting/core/adapters'

/** A model in a local server's list. */
interface ListedModel {
  readonly name: string
  /** Context window in tokens, if the server reports it. */
  readonly contextWindow?: number
}

/** The result of contacting an address. */
export type ProbeResult =
  | { readonly kind: 'answers'; readonly models: readonly ListedModel[]; readonly left: number }
  | { readonly kind: 'absent' }
  | { readonly kind: 'wants_key' }
  /** The server was not contacted; `says` gives the reason. */
  | { readonly kind: 'not_asked'; readonly says: string }
  /** Not a usable model service; `says` gives the reason. */
  | { readonly kind: 'unfit'; readonly says: string }

const largestBytes = 1024 * 1024
/** Maximum number of models, because more are unlikely on a single machine. */
const maxModels = 200

/**
 * Requests the list of models without a key and without following redirects, since any program may listen there. Never
 * rejects; ends after `timeoutMs`.
 */
export function askForModels(baseUrl: string, timeoutMs: number): Promise<ProbeResult> {
  return new Promise((resolve) => {
    const end = (probed: ProbeResult): void => {
      clearTimeout(timer)
      sent?.destroy()
      resolve(probed)
    }
    const timer = setTimeout(() => end({ kind: 'unfit', says: `no answer within ${timeoutMs} ms` }), timeoutMs)
    const sent = sendRequest(`${baseUrl.replace(/\/+$/, '')}/models`, end)
  })
}

function sendRequest(url: string, end: (probed: ProbeResult) => void): ReturnType<typeof request> | undefined {
  try {
    const sent = request(url, { agent: false, headers: { accept: 'application/json', 'accept-encoding': 'identity' } })
    sent.on('error', (error) => end(failureResult(error)))
    sent.on('response', (answer) => {
      const { statusCode: status = 0 } = answer
      if (status === 401 || status === 403) return end({ kind: 'wants_key' })
      if (status !== 200) return end({ kind: 'unfit', says: `not a model service (status ${status})` })
      const pieces: Buffer[] = []
      let bytes = 0
      answer.on('data', (piece: Buffer) => {
        bytes += piece.length
        if (bytes > largestBytes) return end({ kind: 'unfit', says: 'its list of models is larger than 1 MB' })
        pieces.push(piece)
      })
      answer.on('error', (error) => end(failureResult(error)))
      answer.on('close', () => end({ kind: 'unfit', says: 'the connection closed early' }))
      answer.on('end', () => end(parseModels(Buffer.concat(pieces).toString())))
    })
    sent.end()
    return sent
  } catch {
    queueMicrotask(() => end({ kind: 'unfit', says: 'not a valid address' }))
    return undefined
  }
}

function failureResult(error: Error): ProbeResult {
  const code = 'code' in error ? error.code : undefined
  return code === 'ECONNREFUSED'
    ? { kind: 'absent' }
    : { kind: 'unfit', says: 'it does not speak HTTP, or closed the connection' }
}

function parseModels(body: string): ProbeResult {
  const list = parseJson(body)
  if (!isJsonObject(list) || !Array.isArray(list['data']))
    return { kind: 'unfit', says: 'not a model service (no list of models)' }
  const entries: readonly unknown[] = list['data']
  const models = entries.slice(0, maxModels).flatMap(parseModel)
  return { kind: 'answers', models, left: entries.length - models.length }
}

/** Names come from an unknown server: those with unusual characters are dropped, and so are embedding and speech models. */
function parseModel(entry: unknown): readonly ListedModel[] {
  if (!isJsonObject(entry)) return []
  const { id, max_model_len: window } = entry
  if (typeof id !== 'string' || !/^[\w.:/@+-]{1,200}$/.test(id) || /embed|rerank|whisper/i.test(id)) return []
  const isWindow = typeof window === 'number' && Number.isSafeInteger(window) && window > 0
  return [{ name: id, ...(isWindow && { contextWindow: window }) }]
}

function parseJson(body: string): unknown {
  try {
    return JSON.parse(body) as unknown
  } catch {
    return undefined
  }
}
