import type { Model } from '@halting/core'
import { openaiResponses } from '../../src/index.ts'
import type { ServiceOptions } from '../../src/index.ts'

/** A model of the Responses API at an address. */
export function responsesModelAt(baseUrl: string, options: ServiceOptions & { readonly model?: string } = {}): Model {
  const sizes = { contextWindow: 200_000, maxOutputTokens: 16_384 }
  return openaiResponses({ model: 'gpt-test', apiKey: 'key', ...sizes, ...options, baseUrl })
}
