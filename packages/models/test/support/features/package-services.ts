import { fromAiSdk } from '../../../src/ai-sdk/index.ts'
import type { AiSdkModel, AiSdkOptions } from '../../../src/ai-sdk/index.ts'
import type { Model } from '@halting/core'
import { current } from '../ai-sdk-providers.ts'
import { packageRows } from './package-rows.ts'
import type { PackageTitle } from './package-rows.ts'
import { pricedAs } from './service.ts'
import type { Service } from './service.ts'

/**
 * Creates a provider, which is called with the name of a model. The packages have different types; this is the shared
 * part.
 */
type Factory = (settings: object) => (modelId: string) => AiSdkModel

/** The services behind provider packages of the AI SDK, as `npm run providers` installs them. */
export async function packageServices(): Promise<readonly Service[]> {
  const factory = async (name: string, creates: string): Promise<Factory> =>
    (await current(name))[creates] as unknown as Factory
  const [bedrock, vertex, vertexClaude, claude, azure, google, xai, groq, mistral] = await Promise.all([
    factory('@ai-sdk/amazon-bedrock', 'createAmazonBedrock'),
    factory('@ai-sdk/google-vertex', 'createGoogleVertex'),
    factory('@ai-sdk/google-vertex/anthropic', 'createGoogleVertexAnthropic'),
    factory('@ai-sdk/anthropic', 'createAnthropic'),
    factory('@ai-sdk/azure', 'createAzure'),
    factory('@ai-sdk/google', 'createGoogle'),
    factory('@ai-sdk/xai', 'createXai'),
    factory('@ai-sdk/groq', 'createGroq'),
    factory('@ai-sdk/mistral', 'createMistral'),
  ])
  const model = (given: AiSdkModel, options: AiSdkOptions = {}): Model => fromAiSdk(given, { ...options, id: pricedAs })
  const apiKey = 'key'
  const models: { readonly [title in PackageTitle]: (url: string) => Model } = {
    'Amazon Bedrock': (baseURL) => {
      const signIn = { region: 'eu-central-1', accessKeyId: 'AKIAIOSFODNN7EXAMPLE', secretAccessKey: 'secret' }
      return model(bedrock({ ...signIn, baseURL })('eu.anthropic.claude-sonnet-4-5-20250929-v1:0'))
    },
    'Vertex AI, Gemini': (url) =>
      model(vertex({ apiKey, baseURL: `${url}/v1/publishers/google` })('gemini-3-pro-preview')),
    'Vertex AI, Claude': (url) =>
      model(
        vertexClaude({
          project: 'p',
          location: 'global',
          baseURL: `${url}/v1/projects/p/locations/global/publishers/anthropic/models`,
          generateAuthToken: () => Promise.resolve(apiKey),
        })('claude-sonnet-4-5'),
      ),
    'Microsoft Foundry, Claude': (url) =>
      model(claude({ apiKey, baseURL: `${url}/anthropic/v1` })('claude-sonnet-4-5')),
    'Azure OpenAI': (url) => model(azure({ apiKey, baseURL: `${url}/openai` })('gpt-5')),
    'Google Gemini': (url) => model(google({ apiKey, baseURL: `${url}/v1beta` })('gemini-3-pro-preview')),
    xAI: (url) => model(xai({ apiKey, baseURL: `${url}/v1` })('grok-4')),
    Groq: (url) => model(groq({ apiKey, baseURL: `${url}/openai/v1` })('openai/gpt-oss-120b')),
    Mistral: (url) => model(mistral({ apiKey, baseURL: `${url}/v1` })('magistral-medium-latest')),
  }
  return packageRows.map((row) => ({ ...row, modelAt: models[row.title] }))
}
