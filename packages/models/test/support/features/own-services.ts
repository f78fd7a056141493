import { anthropic, openai, openaiCompatible } from '../../../src/index.ts'
import { allByAimock, pricedAs } from './service.ts'
import type { Service } from './service.ts'

const key = { apiKey: 'key', id: pricedAs }

/** Services that are reached by our own adapters. */
export const ownServices: readonly Service[] = [
  {
    title: 'Messages API',
    wire: 'messages',
    cells: { ...allByAimock, 'web search': { no: 'later' } },
    cacheMark: '"cache_control":{"type":"ephemeral"}',
    carriedByAimock: '"signature":"',
    signIn: { header: 'x-api-key', begins: 'key' },
    modelAt: (url) => anthropic({ ...key, model: 'claude-sonnet-4-5', baseUrl: url }),
  },
  {
    title: 'chat completions of OpenAI',
    wire: 'chat',
    cells: {
      ...allByAimock,
      'reasoning carried over': { no: 'chat completions of OpenAI show no reasoning' },
      PDFs: { no: 'later' },
      'web search': { no: 'later' },
    },
    modelAt: (url) => openai({ ...key, model: 'gpt-4.1', baseUrl: `${url}/v1` }),
  },
  {
    title: 'chat completions of others',
    wire: 'chat',
    cells: { ...allByAimock, PDFs: { no: 'later' }, 'web search': { no: 'later' } },
    carriedByAimock: '"reasoning_content":"Hm, a place."',
    modelAt: (url) => openaiCompatible({ ...key, model: 'deepseek-reasoner', baseUrl: `${url}/v1` }),
  },
]
