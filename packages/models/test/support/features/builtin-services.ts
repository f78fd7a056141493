import { anthropic, openai, openaiCompatible, openaiResponses } from '../../../src/index.ts'
import { allByAimock, encryptedByAimock, pricedAs } from './service.ts'
import type { Service } from './service.ts'

const key = { apiKey: 'key', id: pricedAs }

const noDocuments = { no: 'the model gets the name of the document' }
const noSearch = { no: 'by an MCP server' }

/** Services that our own adapters support. */
export const ownServices: readonly Service[] = [
  {
    title: 'Messages API',
    wire: 'messages',
    cells: allByAimock,
    searchTool: '"web_search_20250305"',
    cacheMark: '"cache_control":{"type":"ephemeral"}',
    carriedByAimock: '"signature":"',
    signIn: { header: 'x-api-key', begins: 'key' },
    modelAt: (url) => anthropic({ ...key, model: 'claude-sonnet-4-5', baseUrl: url, webSearch: true }),
  },
  {
    title: 'Responses API',
    wire: 'responses',
    cells: allByAimock,
    searchTool: '"type":"web_search"',
    carriedByAimock: encryptedByAimock,
    modelAt: (url) => openaiResponses({ ...key, model: 'gpt-5', baseUrl: `${url}/v1`, webSearch: true }),
  },
  {
    title: 'Chat completions, OpenAI',
    wire: 'chat',
    cells: {
      ...allByAimock,
      'reasoning carried over': { no: 'the service shows no reasoning there' },
      PDFs: noDocuments,
      'web search': noSearch,
    },
    modelAt: (url) => openai({ ...key, model: 'gpt-4.1', baseUrl: `${url}/v1`, api: 'chat_completions' }),
  },
  {
    title: 'Chat completions, compatible services',
    wire: 'chat',
    cells: { ...allByAimock, PDFs: noDocuments, 'web search': noSearch },
    carriedByAimock: '"reasoning_content":"Hm, a place."',
    modelAt: (url) => openaiCompatible({ ...key, model: 'deepseek-reasoner', baseUrl: `${url}/v1` }),
  },
]
