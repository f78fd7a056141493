// Tests R-PROV-20 and R-PROV-21 of docs/spec: the errors of providers that cannot sign in.
import { expect, onTestFinished, test } from 'vitest'
import { type AiSdkModel, fromAiSdk } from '../src/ai-sdk/index.ts'
import { createKeyRedactor, keyVariables, noteSecretsOfOptions } from '../src/index.ts'
import { createAnthropic } from './support/ai-sdk-providers.ts'
import { call, recordOf } from './support/call.ts'

function throwing(error: unknown): AiSdkModel {
  return {
    specificationVersion: 'v4',
    provider: 'cloud',
    modelId: 'm',
    doStream: async () => {
      throw error
    },
  }
}

function named(name: string, message: string): Error {
  return Object.assign(new Error(message), { name })
}

const aws = 'AWS SigV4 authentication requires AWS credentials. Please provide either: 1. Set AWS_ACCESS_KEY_ID'

test.each([
  ['a plain error about credentials', new Error(aws), aws],
  [
    'those of Google',
    new Error('Could not load the default credentials. Browse to https://cloud.google.com/docs/authentication'),
    'Could not load the default credentials',
  ],
  [
    'an error of a class for credentials',
    named('CredentialsProviderError', 'The SSO session has expired.'),
    'SSO session',
  ],
  ['one of Azure', named('CredentialUnavailableError', 'Please run az login.'), 'az login'],
  ['a missing key', named('AI_LoadAPIKeyError', 'Groq API key is missing.'), 'Groq API key is missing'],
])('treats %s as a failed sign-in, without a retry', async (_name, error, says) => {
  const { error: thrown } = await call(fromAiSdk(throwing(error)))
  expect(recordOf(thrown)).toMatchObject({ kind: 'authentication_failed', retryable: false, billed: 'nothing' })
  expect(recordOf(thrown).message).toContain(says)
})

test.each([
  ['a mistake of the program', new TypeError('x is not a function'), 'unknown'],
  ['a missing setting', named('AI_LoadSettingError', 'AWS region setting is missing.'), 'invalid_request'],
  ['a connection', Object.assign(new Error('connect'), { code: 'ECONNREFUSED' }), 'connection'],
])('does not treat %s as a failed sign-in', async (_name, error, kind) => {
  expect(recordOf((await call(fromAiSdk(throwing(error)))).error).kind).toBe(kind)
})

test('reports a missing key of a real provider', async () => {
  const before = process.env['ANTHROPIC_API_KEY']
  delete process.env['ANTHROPIC_API_KEY']
  onTestFinished(() => {
    if (before !== undefined) process.env['ANTHROPIC_API_KEY'] = before
  })
  // As a program without a key calls it. The provider then reads the environment variable.
  const settings = { baseURL: 'http://127.0.0.1:1/v1' } as Parameters<typeof createAnthropic>[0]
  const { error } = await call(fromAiSdk(createAnthropic(settings)('claude-x')))
  expect(recordOf(error)).toMatchObject({ kind: 'authentication_failed', retryable: false })
  expect(recordOf(error).message).toContain('ANTHROPIC_API_KEY')
})

test('redacts secrets that providers read', () => {
  const env = {
    AWS_SECRET_ACCESS_KEY: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
    AZURE_API_KEY: 'azure-0123456789abcdef',
    GOOGLE_PRIVATE_KEY: '-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkq/0123456789+abcdef\n-----END PRIVATE KEY-----\n',
    AWS_REGION: 'eu-central-1-and-more',
  }
  const redact = createKeyRedactor(env)
  for (const name of ['AWS_SECRET_ACCESS_KEY', 'AZURE_API_KEY', 'GOOGLE_PRIVATE_KEY'] as const)
    expect(redact(`it is ${env[name].trim()}!`)).toBe('it is [REDACTED]!')
  expect(redact(env.AWS_REGION)).toBe(env.AWS_REGION)
  // Other programs sign in to clouds.
  expect(keyVariables()).toContain('AZURE_API_KEY')
  expect(keyVariables()).not.toContain('AWS_SECRET_ACCESS_KEY')
})

test('redacts keys in package options everywhere, and nothing else', async () => {
  const secrets = {
    apiKey: 'opt-Key-0123456789',
    shortKey: 'Ab3dE6gH9',
    baseURL: 'https://someone:opt-Pass-9876@host.example/v1?api-key=opt-Query-5555',
    headers: { 'x-gateway': 'opt-Header-0123456789' },
    credentials: { private_key: '-----BEGIN PRIVATE KEY-----\nopt/Private+0123456789\n-----END PRIVATE KEY-----\n' },
    gateway: { byok: [{ apiKey: 'opt-Own-0123456789' }] },
  }
  const others = {
    credentials: {
      type: 'service_account',
      project_id: 'opt-project-0123456789',
      client_email: 'me@opt-project-0123456789.example',
      token_uri: 'https://oauth2.googleapis.com/token',
    },
    tokenizer: 'cl100k_base',
    promptCacheKey: 'opt-cache-0123456789',
    region: 'eu-central-1-or-another',
  }
  noteSecretsOfOptions(secrets)
  noteSecretsOfOptions(others)
  const text = `${JSON.stringify(secrets)} ${[secrets.apiKey, secrets.shortKey, secrets.baseURL, secrets.credentials.private_key].join(' ')}`
  const { error } = await call(fromAiSdk(throwing(new Error(text))))
  for (const shown of [JSON.stringify(recordOf(error)), createKeyRedactor({})(text)])
    expect(shown).not.toMatch(/opt-(?!project|cache)|Ab3d|Private\+/)
  expect(createKeyRedactor({})(JSON.stringify(others))).toBe(JSON.stringify(others))
})
