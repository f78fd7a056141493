import { isJsonObject, messageOf } from '@halting/core/adapters'
import { networkError } from '../http/network-error.ts'
import { proxyFor } from '../http/proxy.ts'
import type { HttpAnswer } from '../http/transport.ts'
import { parseJson } from '../json-fields.ts'
import type { KeyHeader } from './credentials.ts'
import { keyRingOf, transportOf } from './endpoint.ts'
import type { ServiceOptions } from './endpoint.ts'
import { createRedactor } from './redactor.ts'
import { secretsOf } from './secrets.ts'

/** The response of a service to the question which models it has. Asking is free. */
export type ServiceAnswer =
  /** The service accepted the key. `models` are their names; undefined if it has no list. */
  | {
      readonly kind: 'answered'
      /** Names of the models; undefined if the service has no list. */
      readonly models: readonly string[] | undefined
    }
  | {
      readonly kind: 'key_refused'
      /** HTTP status of the refusal. */
      readonly status: number
    }
  /** No response, or a response that is not from such a service. */
  | {
      readonly kind: 'failed'
      /** Description of the failure in one sentence. */
      readonly message: string
    }

/** A configured service, for inspection. */
export interface ModelService {
  /** Model name as the service knows it. */
  readonly model: string
  /** Address of the service, without parts that may contain a secret. */
  readonly origin: string
  /** Whether a key was found. */
  readonly hasCredentials: boolean
  /** Variable that names the proxy; undefined without a proxy. */
  readonly proxyVariable: string | undefined
  /** Requests the list of models, for at most `timeoutMs`. Never rejects. */
  ask(timeoutMs: number): Promise<ServiceAnswer>
}

interface ModelServiceInit {
  readonly model: string
  readonly endpoint: { readonly url: string; readonly headers: Readonly<Record<string, string>> }
  readonly options: ServiceOptions
  readonly keyHeader: KeyHeader
}

/** @throws ConfigurationError for a key that cannot be sent. */
export function createModelService({ model, endpoint, options, keyHeader }: ModelServiceInit): ModelService {
  const keys = keyRingOf(options, keyHeader)
  const redactor = createRedactor(secretsOf(options))
  const { apiKey, authToken, credentials } = options
  const transport = transportOf(options)
  const { url, headers } = endpoint
  return {
    model,
    origin: new URL(url).origin,
    proxyVariable: proxyFor(new URL(url), process.env)?.variable,
    hasCredentials: (apiKey ?? authToken ?? credentials) !== undefined,
    async ask(timeoutMs) {
      const signal = AbortSignal.timeout(timeoutMs)
      try {
        const key = await keys.current(signal)
        redactor.add(key.credential.apiKey, key.credential.authToken)
        const requestHeaders = { ...key.headers, ...headers, accept: 'application/json' }
        const answer = await transport({ url, headers: requestHeaders }, signal)
        const outcome = answerOf(answer.status, await textOf(answer))
        if (outcome.kind !== 'answered' || outcome.models === undefined) return outcome
        // A service may repeat the key instead of names. Redact all names at once, because each call takes a while.
        const names = outcome.models.map((name) => name.replaceAll('\n', ' ')).join('\n')
        return { ...outcome, models: names === '' ? [] : redactor.text(names).split('\n') }
      } catch (thrown) {
        if (signal.aborted) return { kind: 'failed', message: `it did not answer within ${timeoutMs / 1_000} s` }
        return { kind: 'failed', message: redactor.text(messageOf(networkError(thrown, url))) }
      }
    },
  }
}

function answerOf(status: number, body: string): ServiceAnswer {
  if (status === 401 || status === 403) return { kind: 'key_refused', status }
  const list = status === 200 ? parseJson(body) : undefined
  if (isJsonObject(list) && Array.isArray(list.data)) {
    const models = list.data.flatMap((entry: unknown) =>
      isJsonObject(entry) && typeof entry.id === 'string' ? [entry.id] : [],
    )
    // A page of a longer list is incomplete.
    return { kind: 'answered', models: list.has_more === true ? undefined : models }
  }
  // Some services have no list of models; a JSON error still proves that it is a service.
  if (status < 500 && isJsonObject(parseJson(body))) return { kind: 'answered', models: undefined }
  return { kind: 'failed', message: `it answered ${status}, which is not a reply of a model service` }
}

const longestList = 4 * 1024 * 1024

async function textOf(answer: HttpAnswer): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  for (let left = longestList; left > 0;) {
    const piece = await answer.next()
    if (piece === undefined) return text
    text += decoder.decode(piece.subarray(0, left), { stream: true })
    left -= piece.length
  }
  answer.cancel()
  return text
}
