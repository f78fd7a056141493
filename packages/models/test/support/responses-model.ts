import type { Model } from '@halting/core'
import { releaseBody } from '../../src/bytes/bodies.ts'
import { chatKeyHeader } from '../../src/openai/openai.ts'
import { createOwnReasoning } from '../../src/responses/own-reasoning.ts'
import { createResponsesBody } from '../../src/responses/responses-body.ts'
import { ResponsesReader } from '../../src/responses/responses-reader.ts'
import { keyRingOf, headersOf, urlUnder, withRedactor } from '../../src/service/endpoint.ts'
import type { ServiceOptions } from '../../src/service/endpoint.ts'
import { callService, limitsOf } from '../../src/service/service-model.ts'

/** A model of the Responses API at an address. */
export function responsesModelAt(baseUrl: string, options: ServiceOptions & { readonly model?: string } = {}): Model {
  const { model = 'gpt-test' } = options
  const asked = { apiKey: 'key', ...options }
  return withRedactor(asked, (redactor) => {
    const keys = keyRingOf(asked, chatKeyHeader)
    const limits = limitsOf(asked)
    const protocol = {
      url: urlUnder(baseUrl, '/responses', 'https://api.openai.com/v1'),
      redactor,
      headers: headersOf({}, asked.headers),
      labels: { name: 'the Responses API', baseUrlSetting: 'OPENAI_BASE_URL', keySetting: 'OPENAI_API_KEY' },
      body: createResponsesBody({
        model,
        id: model,
        freeform: {},
        serverTools: [],
        effort: undefined,
        summary: undefined,
        extraBody: {},
        refused: { store: false, include: false, carriedReasoning: false, summary: false, efforts: new Set<string>() },
        ownReasoning: createOwnReasoning(),
      }),
      release: releaseBody,
      reader: (request: Parameters<Model['call']>[0], emit: Parameters<Model['call']>[1]['emit']) =>
        new ResponsesReader(model, request, emit),
    }
    const spoken = { protocol }
    return {
      id: model,
      contextWindow: 200_000,
      maxOutputTokens: 16_384,
      call: (request, call) => callService(spoken, keys, limits, request, call),
    }
  })
}
