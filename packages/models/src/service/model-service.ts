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

/** What a service outcome when it was asked which models it has. It costs nothing. */
export type ServiceAnswer =
  /** It took the key; `models` are their names, undefined where it gives no list. */
  | {
      readonly kind: 'answered'
      /** Names of the models; undefined where the service gives no list. */
      readonly models: readonly string[] | undefined
    }
  | {
      readonly kind: 'key_refused'
      /** HTTP status of the refusal. */
      readonly status: number
    }
  /** Nothing answered, or something that is no service of this kind. In words. */
  | {
      readonly kind: 'failed'
      /** What went wrong, in a sentence. */
      readonly message: string
    }

/** A service as a person set it up, for looking at. */
export interface ModelService {
  /** The name of the model, as the service knows it. */
  readonly model: string
  /** Where it is found, without what may hold a secret. */
  readonly origin: string
  /** Whether a key was found. */
  readonly hasCredentials: boolean
  /** The variable that names the proxy in between; undefined without one. */
  readonly proxyVariable: string | undefined
  /** Asks it for the list of its models, for at most `timeoutMs`. Never rejects. */
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
        const asked = { ...key.headers, ...headers, accept: 'application/json' }
        const answer = await transport({ url, headers: asked }, signal)
        const outcome = answerOf(answer.status, await textOf(answer))
        if (outcome.kind !== 'answered' || outcome.models === undefined) return outcome
        // A service may repeat the key where names are expected. All at once: each text takes a while.
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
    // A page of a longer list says nothing of what is not on it.
    return { kind: 'answered', models: list.has_more === true ? undefined : models }
  }
  // Some services have no list of models; what refuses in JSON is a service all the same.
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
