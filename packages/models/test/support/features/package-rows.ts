import { allByAimock, allByUs, encryptedByAimock } from './service.ts'
import type { Row } from './service.ts'

const underV1 = (path: string): string => path.replace(/^.*\/(?=(?:messages|responses|chat\/completions)\b)/, '/v1/')
const toGemini = (path: string): string => path.replace(/^.*\/models\//, '/v1beta/models/')

const noSearch = { no: 'by an MCP server' }
/** aimock writes no signatures for these. */
const reasoningByUs = { ...allByAimock, 'reasoning carried over': 'own' } as const

/**
 * The rows of services behind provider packages: their tested features, and who answers. `npm run providers` runs the
 * tests.
 */
export const packageRows = [
  {
    title: 'Amazon Bedrock',
    package: '@ai-sdk/amazon-bedrock',
    wire: 'bedrock',
    cells: { ...reasoningByUs, 'web search': noSearch },
    cacheMark: '"cachePoint":{"type":"default"}',
    signIn: { header: 'authorization', begins: 'AWS4-HMAC-SHA256 ' },
  },
  {
    title: 'Vertex AI, Gemini',
    package: '@ai-sdk/google-vertex',
    wire: 'gemini',
    cells: reasoningByUs,
    searchTool: '"googleSearch":{',
    hasCallIds: false,
    pathAtAimock: toGemini,
    signIn: { header: 'x-goog-api-key', begins: 'key' },
  },
  {
    title: 'Vertex AI, Claude',
    package: '@ai-sdk/google-vertex',
    wire: 'messages',
    cells: allByAimock,
    searchTool: '"web_search_20250305"',
    cacheMark: '"cache_control":{"type":"ephemeral"}',
    carriedByAimock: '"signature":"',
    pathAtAimock: () => '/v1/messages',
  },
  {
    title: 'Microsoft Foundry, Claude',
    package: '@ai-sdk/anthropic',
    wire: 'messages',
    cells: allByAimock,
    searchTool: '"web_search_20250305"',
    cacheMark: '"cache_control":{"type":"ephemeral"}',
    carriedByAimock: '"signature":"',
    pathAtAimock: underV1,
    signIn: { header: 'x-api-key', begins: 'key' },
  },
  {
    title: 'Azure OpenAI',
    package: '@ai-sdk/azure',
    wire: 'responses',
    cells: { ...allByAimock, 'web search': noSearch },
    carriedByAimock: encryptedByAimock,
    pathAtAimock: underV1,
    signIn: { header: 'api-key', begins: 'key' },
  },
  {
    title: 'Google Gemini',
    package: '@ai-sdk/google',
    wire: 'gemini',
    cells: reasoningByUs,
    searchTool: '"googleSearch":{',
    hasCallIds: false,
    pathAtAimock: toGemini,
    signIn: { header: 'x-goog-api-key', begins: 'key' },
  },
  {
    title: 'xAI',
    package: '@ai-sdk/xai',
    wire: 'responses',
    // Its package rejects aimock's format of reasoning.
    cells: { ...allByUs, PDFs: { no: 'the package refuses them' } },
    searchTool: '"type":"web_search"',
  },
  {
    title: 'Groq',
    package: '@ai-sdk/groq',
    wire: 'groq',
    // aimock has neither Groq's name for reasoning nor its place for usage.
    cells: { ...reasoningByUs, PDFs: { no: 'the package refuses them' }, 'web search': noSearch, money: 'own' },
    carried: '"reasoning":"Hm, a place."',
    pathAtAimock: underV1,
  },
  {
    title: 'Mistral',
    package: '@ai-sdk/mistral',
    wire: 'mistral',
    // aimock reports usage only on request, which Mistral does not need.
    cells: { ...reasoningByUs, 'web search': noSearch, money: 'own' },
    carried: '"thinking":[{"type":"text","text":"Hm, a place."}]',
    pathAtAimock: underV1,
  },
] as const satisfies readonly Row[]

export type PackageTitle = (typeof packageRows)[number]['title']
