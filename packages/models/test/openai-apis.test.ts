// Which API a model of OpenAI uses, and what it learns from rejections (spec R-RESP-10 to R-RESP-13).
import type { ServerResponse } from 'node:http'
import type { JsonObject, Model, ModelMessage, ModelRequest } from '@halting/core'
import { describe, expect, test } from 'vitest'
import { openai, openaiCompatible, openaiResponses } from '../src/index.ts'
import type { OpenAiOptions } from '../src/index.ts'
import { call, recordOf, requestOf } from './support/call.ts'
import { beginStream, startRawServer } from './support/raw-server.ts'
import { responsesBytes } from './support/responses-expected.ts'
import { messageItem, reasoningItem, replyEvents, startResponsesService } from './support/responses-service.ts'
import type { Asked, Refuse, ResponsesService } from './support/responses-service.ts'

function modelAt({ url }: ResponsesService, options: Partial<OpenAiOptions> = {}): Model {
  return openai({ model: 'gpt-5.2', baseUrl: `${url}/v1`, apiKey: 'key', ...options })
}

const openAiError = (message: string, param: string | null = null, code: string | null = null): JsonObject => ({
  error: { message, type: 'invalid_request_error', param, code },
})

async function textOf(model: Model, request: Partial<ModelRequest> = {}): Promise<unknown> {
  const { reply, error } = await call(model, { request: requestOf(request) })
  if (reply === undefined) throw error
  return reply.message.content.map((block) => (block.type === 'text' ? block.text : block.type)).join()
}

/** The warnings that come with a reply. */
async function warningsOf(model: Model, request: Partial<ModelRequest> = {}): Promise<readonly string[]> {
  const { reply, error } = await call(model, { request: requestOf(request) })
  if (reply === undefined) throw error
  return reply.warnings ?? []
}

const pathsOf = ({ asked }: ResponsesService): readonly string[] => asked.map(({ path }) => path)
const onResponses = ({ path }: Asked): boolean => path === '/v1/responses'

describe('openai', () => {
  test('uses the Responses API, and stores nothing', async () => {
    const service = await startResponsesService()
    expect(await textOf(modelAt(service))).toBe('Yes.')
    expect(pathsOf(service)).toEqual(['/v1/responses'])
    expect(service.asked[0]?.body).toMatchObject({ model: 'gpt-5.2', store: false, stream: true })
  })

  test('uses chat completions on request, and openaiCompatible vice versa', async () => {
    const service = await startResponsesService()
    await textOf(modelAt(service, { api: 'chat_completions' }))
    const options = { model: 'm', baseUrl: `${service.url}/v1` }
    await textOf(openaiCompatible(options))
    await textOf(openaiCompatible({ ...options, api: 'responses' }))
    expect(pathsOf(service)).toEqual(['/v1/chat/completions', '/v1/chat/completions', '/v1/responses'])
  })

  test('knows two names of APIs, and rejects any other', () => {
    for (const make of [openai, openaiCompatible]) {
      const options = { model: 'gpt-5.2', baseUrl: 'http://127.0.0.1:9', api: 'response' as 'responses' }
      expect(() => make(options)).toThrow('api must be responses or chat_completions, not "response".')
    }
  })

  test('names fields as the API does, whichever name they had', async () => {
    const service = await startResponsesService()
    const schema = { name: 'answer', schema: { type: 'object' }, strict: true }
    const format = { type: 'json_schema', json_schema: schema }
    const extraBody = { reasoning_effort: 'low', response_format: format, verbosity: 'low', stream_options: null }
    await textOf(modelAt(service, { extraBody }))
    const { body } = service.asked[0] ?? { body: {} }
    expect(body).toMatchObject({
      reasoning: { effort: 'low', summary: 'auto' },
      text: { format: { type: 'json_schema', ...schema }, verbosity: 'low' },
    })
    for (const name of Object.keys(extraBody)) expect(body).not.toHaveProperty(name)
    const stream_options = { include_usage: true, include_obfuscation: false }
    await textOf(modelAt(service, { extraBody: { stream_options } }))
    expect(service.asked[1]?.body.stream_options).toEqual({ include_obfuscation: false })
  })

  test.each(['gpt-5-pro', 'gpt-5.2-codex', 'gpt-5.1-codex-max', 'o3-deep-research-2025-06-26', 'codex-mini-latest'])(
    "rejects %s for OpenAI's chat completions before any request",
    (model) => {
      expect(() => openai({ model, apiKey: 'key', api: 'chat_completions' })).toThrow(
        `${model} is only served by the Responses API, but chat completions are configured for it. Remove HALTING_OPENAI_API, the setting openaiApi`,
      )
    },
  )

  test('declares its searches and tool uses', () => {
    const make = (options: Partial<OpenAiOptions>): Model => openai({ model: 'gpt-5.2', apiKey: 'key', ...options })
    expect(make({}).webSearch).toEqual({ domains: 'allowed and blocked' })
    expect(make({ api: 'chat_completions' }).webSearch).toBeUndefined()
    expect(make({ webSearch: false }).webSearch).toBeUndefined()
    expect(make({ baseUrl: 'https://gateway.example/v1' }).webSearch).toBeUndefined()
    expect(make({ baseUrl: 'https://gateway.example/v1', webSearch: true }).webSearch).toBeDefined()
    const serverTools = [{ type: 'code_interpreter' }]
    expect(make({}).maxServerToolUses).toBeUndefined()
    expect(make({ serverTools }).maxServerToolUses).toBe(Infinity)
    expect(make({ serverTools, extraBody: { max_tool_calls: 3 } }).maxServerToolUses).toBe(3)
  })
})

describe('a service without the Responses API', () => {
  const noSuchPath: readonly (readonly [string, number, unknown])[] = [
    ['Express', 404, 'Cannot POST /v1/responses'],
    ['FastAPI', 404, { detail: 'Not Found' }],
    ['FastAPI, another method', 405, { detail: 'Method Not Allowed' }],
    ['llama.cpp', 404, { error: { code: 404, message: 'File Not Found', type: 'not_found_error' } }],
    ['an empty body', 404, ''],
    ['not implemented', 501, { error: { message: 'Not implemented' } }],
    ['OpenAI', 404, { error: { message: 'Invalid URL (POST /v1/responses)', type: 'invalid_request_error' } }],
    [
      'GitHub Copilot',
      400,
      openAiError('model gpt-4.1 does not support Responses API.', null, 'unsupported_api_for_model'),
    ],
  ]
  test.each(noSuchPath)('uses chat completions from then on: %s', async (_name, status, body) => {
    const service = await startResponsesService(undefined, (asked) =>
      onResponses(asked) ? { status, body } : undefined,
    )
    const model = modelAt(service)
    expect([await textOf(model), await textOf(model)]).toEqual(['Yes.', 'Yes.'])
    expect(pathsOf(service)).toEqual(['/v1/responses', '/v1/chat/completions', '/v1/chat/completions'])
    expect(service.asked[1]?.body).not.toHaveProperty('input')
    expect(new Set(service.asked.slice(0, 2).map(({ key }) => key)).size).toBe(2)
  })

  test('is reported once, with the setting', async () => {
    const service = await startResponsesService(undefined, (asked) =>
      onResponses(asked) ? { status: 404, body: '' } : undefined,
    )
    const model = modelAt(service)
    expect([await warningsOf(model), await warningsOf(model)]).toEqual([
      [
        `gpt-5.2 is not available through the Responses API at ${service.url}/v1/responses. halting uses chat completions, ` +
          'which may not carry its reasoning from one request to the next. ' +
          'To skip this attempt, set openaiApi (or the option api) to chat_completions.',
      ],
      [],
    ])
    expect(await warningsOf(modelAt(service, { api: 'chat_completions' }))).toEqual([])
  })

  test('receives the field names of chat completions', async () => {
    const service = await startResponsesService(undefined, (asked) =>
      onResponses(asked) ? { status: 404, body: '' } : undefined,
    )
    const schema = { name: 'answer', schema: { type: 'object' } }
    const text = { format: { type: 'json_schema', ...schema }, verbosity: 'low' }
    await textOf(modelAt(service, { effort: 'xhigh', extraBody: { text, max_tool_calls: 2, temperature: 0 } }))
    const { body } = service.asked[1] ?? { body: {} }
    expect(body).toMatchObject({
      reasoning_effort: 'high',
      response_format: { type: 'json_schema', json_schema: schema },
      verbosity: 'low',
      temperature: 0,
    })
    for (const name of ['text', 'max_tool_calls', 'store', 'include']) expect(body).not.toHaveProperty(name)
    // A new model does not know the earlier 404, so it tries both APIs once more.
    await textOf(modelAt(service, { extraBody: { reasoning: { effort: 'low', summary: 'auto' } } }))
    expect(service.asked[3]?.body).toMatchObject({ reasoning_effort: 'low' })
    expect(service.asked[3]?.body).not.toHaveProperty('reasoning')
  })

  const aboutModel: readonly (readonly [string, unknown])[] = [
    ['OpenAI', openAiError('The requested model does not exist.', 'model', 'model_not_found')],
    ['Ollama', { error: 'model "m" not found, try pulling it first' }],
    ['vLLM', { object: 'error', message: 'The model `m` does not exist.', type: 'NotFoundError', code: 404 }],
    ['Azure', { error: { code: 'DeploymentNotFound', message: 'There is no such resource.' } }],
  ]
  test.each(aboutModel)('is not assumed after a 404 about the model: %s', async (_name, body) => {
    const service = await startResponsesService(undefined, () => ({ status: 404, body }))
    const { error } = await call(modelAt(service))
    expect(recordOf(error)).toMatchObject({ kind: 'model_not_found', status: 404, billed: 'nothing' })
    expect(pathsOf(service)).toEqual(['/v1/responses'])
  })

  test('is not assumed after a reply, and openaiResponses has no fallback', async () => {
    let isGone = false
    const service = await startResponsesService(undefined, () => (isGone ? { status: 404, body: '' } : undefined))
    const model = modelAt(service)
    await textOf(model)
    isGone = true
    const { error } = await call(model)
    expect(recordOf(error).message).toContain('not a reply of the Responses API. Is the base URL right?')
    await call(openaiResponses({ model: 'gpt-5.2', baseUrl: `${service.url}/v1` }))
    expect(pathsOf(service)).toEqual(['/v1/responses', '/v1/responses', '/v1/responses'])
  })

  test('is not used for a model that only Responses serves, and the error names the setting', async () => {
    const service = await startResponsesService(undefined, () => ({ status: 404, body: '' }))
    const { error } = await call(modelAt(service, { model: 'gpt-5-pro' }))
    expect(recordOf(error)).toMatchObject({ kind: 'invalid_request', status: 404, billed: 'nothing', retryable: false })
    expect(recordOf(error).message).toBe(
      `gpt-5-pro is only served by the Responses API, but ${service.url}/v1/responses answered 404. ` +
        'Set OPENAI_BASE_URL to a service that has it, or choose another model.',
    )
    expect(pathsOf(service)).toEqual(['/v1/responses'])
  })

  test('does not search, and says so', async () => {
    const service = await startResponsesService(undefined, (asked) =>
      onResponses(asked) ? { status: 404, body: '' } : undefined,
    )
    const { error } = await call(modelAt(service), { request: requestOf({ webSearch: { maxUses: 1 } }) })
    expect(recordOf(error).message).toContain('which this model needs for web search')
    expect(pathsOf(service)).toEqual(['/v1/responses'])
  })
})

/** Rejects every request with a field. */
function refuseField(has: (body: JsonObject) => boolean, body: unknown, status = 400): Refuse {
  return (asked) => (has(asked.body) ? { status, body } : undefined)
}

const effortIn = ({ reasoning }: JsonObject): unknown => (reasoning as JsonObject | undefined)?.effort
const summaryIn = ({ reasoning }: JsonObject): unknown => (reasoning as JsonObject | undefined)?.summary

describe('does not send what a service refused again', () => {
  interface Case {
    readonly name: string
    readonly refuse: Refuse
    readonly options?: Partial<OpenAiOptions>
    /** The fields of the request after the rejection. */
    readonly sent: JsonObject
    readonly without?: string
  }
  const cases: readonly Case[] = [
    {
      name: 'include',
      refuse: refuseField(
        (body) => 'include' in body,
        openAiError('Encrypted content is not supported with this model.', 'include'),
      ),
      sent: { store: false },
      without: 'include',
    },
    {
      name: 'include, by a service that names no field',
      refuse: refuseField((body) => 'include' in body, { detail: [{ msg: 'reasoning.encrypted_content: bad' }] }, 422),
      sent: { store: false },
      without: 'include',
    },
    {
      name: 'reasoning.summary',
      refuse: refuseField(
        (body) => summaryIn(body) !== undefined,
        openAiError(
          'Your organization must be verified to generate reasoning summaries.',
          'reasoning.summary',
          'unsupported_value',
        ),
      ),
      options: { effort: 'high' },
      sent: { reasoning: { effort: 'high' } },
    },
    {
      name: 'an effort, by the values that the model takes',
      refuse: refuseField(
        (body) => effortIn(body) === 'max',
        openAiError(
          "Unsupported value: 'max' is not supported with the 'gpt-5.2' model. Supported values are: 'low', 'medium', and 'high'.",
          'reasoning.effort',
          'unsupported_value',
        ),
      ),
      options: { effort: 'max' },
      sent: { reasoning: { effort: 'high', summary: 'auto' } },
    },
    {
      name: 'an effort, by its name alone',
      refuse: refuseField((body) => effortIn(body) === 'xhigh', openAiError("Invalid reasoning effort: 'xhigh'.")),
      options: { effort: 'xhigh' },
      sent: { reasoning: { effort: 'high', summary: 'auto' } },
    },
    {
      name: 'an effort that does not go with tools of the service',
      refuse: refuseField(
        (body) => effortIn(body) === 'minimal' && 'tools' in body,
        openAiError("The following tools cannot be used with reasoning.effort 'minimal': web_search.", 'tools'),
      ),
      options: { effort: 'minimal', serverTools: [{ type: 'web_search' }] },
      sent: { reasoning: { effort: 'low', summary: 'auto' } },
    },
    {
      name: 'any effort',
      refuse: refuseField(
        (body) => effortIn(body) !== undefined,
        openAiError("Unsupported parameter: 'reasoning.effort' is not supported with this model.", 'reasoning.effort'),
      ),
      options: { effort: 'low' },
      sent: { reasoning: { summary: 'auto' } },
    },
    {
      name: 'reasoning',
      refuse: refuseField(
        (body) => 'reasoning' in body,
        openAiError("Unsupported parameter: 'reasoning' is not supported with this model.", 'reasoning'),
      ),
      options: { effort: 'low' },
      sent: { store: false },
      without: 'reasoning',
    },
    {
      name: 'store',
      refuse: refuseField((body) => 'store' in body, openAiError("Unknown parameter: 'store'.", 'store')),
      sent: { include: ['reasoning.encrypted_content'] },
      without: 'store',
    },
    {
      name: 'max_tokens',
      refuse: refuseField(
        (body) => 'max_tokens' in body,
        openAiError(
          "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
          'max_tokens',
          'unsupported_parameter',
        ),
      ),
      options: { api: 'chat_completions' },
      sent: { max_completion_tokens: 100 },
      without: 'max_tokens',
    },
    {
      name: 'max_completion_tokens',
      refuse: refuseField(
        (body) => 'max_completion_tokens' in body,
        { detail: [{ loc: ['body', 'max_completion_tokens'], msg: 'Extra inputs are not permitted' }] },
        422,
      ),
      options: { api: 'chat_completions', outputLimitField: 'max_completion_tokens' },
      sent: { max_tokens: 100 },
      without: 'max_completion_tokens',
    },
    {
      name: 'an effort of chat completions',
      refuse: refuseField(
        (body) => body.reasoning_effort === 'xhigh',
        openAiError(
          "Unsupported value: 'reasoning_effort' does not support 'xhigh' with this model. Supported values are: 'low' and 'medium'.",
          'reasoning_effort',
        ),
      ),
      options: { api: 'chat_completions', extraBody: { reasoning_effort: 'xhigh' } },
      sent: { reasoning_effort: 'medium' },
    },
    {
      name: 'an effort that chat completions reject together with tools',
      refuse: refuseField(
        (body) => body.reasoning_effort === 'high',
        openAiError(
          "Function tools with reasoning_effort are not supported for gpt-5.4 in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.",
          'reasoning_effort',
        ),
      ),
      options: { api: 'chat_completions', effort: 'high' },
      sent: { reasoning_effort: 'none' },
    },
  ]

  test.each(cases)('$name', async ({ refuse, options, sent, without = 'nothing' }) => {
    const service = await startResponsesService(undefined, refuse)
    const model = modelAt(service, options)
    expect([await textOf(model), await textOf(model)]).toEqual(['Yes.', 'Yes.'])
    // Once with the rejected field, then without it.
    expect(service.asked).toHaveLength(3)
    for (const { body } of service.asked.slice(1)) {
      expect(body).toMatchObject(sent)
      expect(body).not.toHaveProperty(without)
    }
  })

  test.each(cases)('$name, of two concurrent requests', async ({ refuse, options, sent, without = 'nothing' }) => {
    const service = await startResponsesService(undefined, refuse)
    const model = modelAt(service, options)
    expect(await Promise.all([textOf(model), textOf(model)])).toEqual(['Yes.', 'Yes.'])
    await textOf(model)
    expect(service.asked.length).toBeLessThanOrEqual(5)
    expect(service.asked.at(-1)?.body).toMatchObject(sent)
    expect(service.asked.at(-1)?.body).not.toHaveProperty(without)
  })

  const unsupported = (param: string): JsonObject => openAiError(`Unsupported parameter: '${param}'.`, param)
  const omissions: readonly (readonly [string, Refuse, Partial<OpenAiOptions>, readonly RegExp[]])[] = [
    ['include', refuseField((body) => 'include' in body, unsupported('include')), {}, [/no encrypted reasoning/]],
    ['store', refuseField((body) => 'store' in body, unsupported('store')), {}, [/rejects the field "store"/]],
    [
      'a summary',
      refuseField((body) => summaryIn(body) !== undefined, unsupported('reasoning.summary')),
      {},
      [/no summaries of the reasoning of gpt-5\.2/],
    ],
    [
      'an unwanted summary',
      refuseField((body) => 'reasoning' in body, unsupported('reasoning')),
      { reasoningSummary: 'none', thinking: { type: 'disabled' } },
      [],
    ],
    [
      'an effort',
      refuseField((body) => effortIn(body) === 'xhigh', openAiError("Invalid reasoning effort: 'xhigh'.")),
      { effort: 'xhigh' },
      [/^gpt-5\.2 does not support effort xhigh\. Effort high is used instead\.$/],
    ],
    [
      'all of it',
      refuseField((body) => 'reasoning' in body, unsupported('reasoning')),
      { effort: 'low' },
      [/no summaries/, /does not support effort low\. Its default effort is used instead\./],
    ],
    [
      'the least effort, with thinking off',
      refuseField((body) => effortIn(body) === 'none', openAiError("Invalid reasoning effort: 'none'.")),
      { thinking: { type: 'disabled' } },
      [],
    ],
  ]
  test.each(omissions)('notifies a person once about what is omitted: %s', async (_name, refuse, options, expected) => {
    const model = modelAt(await startResponsesService(undefined, refuse), options)
    expect(await warningsOf(model)).toEqual(expected.map((words) => expect.stringMatching(words) as string))
    expect(await warningsOf(model)).toEqual([])
  })

  test('handles many refusals, each once, also concurrently', async () => {
    const refusals = [0, 2, 6, 8].map((place) => cases[place]?.refuse)
    const refuse: Refuse = (asked) => refusals.map((one) => one?.(asked)).find((refusal) => refusal !== undefined)
    const service = await startResponsesService(undefined, refuse)
    const model = modelAt(service, { effort: 'xhigh' })
    expect(await Promise.all([textOf(model), textOf(model), textOf(model)])).toEqual(['Yes.', 'Yes.', 'Yes.'])
    const before = service.asked.length
    await textOf(model)
    expect(service.asked.length - before).toBe(1)
    expect(service.asked.at(-1)?.body).not.toHaveProperty('reasoning')
  })

  test('finds the lowest effort when thinking is off, and uses it from then on', async () => {
    const taken = ['low', 'high']
    const service = await startResponsesService(undefined, ({ body }) => {
      const effort = String(effortIn(body))
      return taken.includes(effort)
        ? undefined
        : { status: 400, body: openAiError(`No '${effort}'.`, 'reasoning.effort') }
    })
    const model = modelAt(service, { effort: 'high' })
    const thinking = { type: 'disabled' } as const
    await textOf(model, { thinking })
    await textOf(model, { thinking })
    await textOf(model)
    expect(service.asked.map(({ body }) => effortIn(body))).toEqual(['none', 'minimal', 'low', 'low', 'high'])
  })
})

describe('reports a refusal of anything else', () => {
  test.each([
    ['an output limit that is too large', 400, openAiError('max_tokens is too large: 100. At most 10.', 'max_tokens')],
    [
      'max_tool_calls, which limits the fees',
      400,
      openAiError("Unknown parameter: 'max_tool_calls'.", 'max_tool_calls'),
    ],
    ['another field', 400, openAiError("Unknown parameter: 'temperature'.", 'temperature')],
    [
      'an item that it did not store',
      400,
      openAiError("Item with id 'rs_1' not found. Items are not persisted when `store` is set to false."),
    ],
    ['a word in a text', 400, openAiError('Invalid value in the store of include.', 'input[0].content')],
    ['another status', 403, openAiError("Unknown parameter: 'store'.", 'store')],
  ])('%s', async (_name, status, body) => {
    for (const api of ['responses', 'chat_completions'] as const) {
      const service = await startResponsesService(undefined, () => ({ status, body }))
      const { error } = await call(modelAt(service, { api }))
      expect(recordOf(error).status).toBe(status)
      expect(service.asked).toHaveLength(1)
    }
  })

  test('does not retry endlessly', async () => {
    for (const [param, message] of [
      ['include', 'No.'],
      ['store', 'No.'],
      ['reasoning.summary', 'No.'],
      ['reasoning.effort', 'No.'],
      ['max_tokens', "Unsupported parameter: 'max_tokens'"],
      ['max_completion_tokens', "Unknown parameter: 'max_completion_tokens'"],
    ] as const) {
      for (const api of ['responses', 'chat_completions'] as const) {
        const service = await startResponsesService(undefined, () => ({
          status: 400,
          body: openAiError(message, param),
        }))
        const { error } = await call(modelAt(service, { api }))
        expect(recordOf(error).status).toBe(400)
        expect(service.asked.length).toBeLessThanOrEqual(3)
      }
    }
  })
})

describe('reasoning that was encrypted for another key', () => {
  const origin = { api: 'responses', item: reasoningItem('old-1') }
  const before = [
    { role: 'user', content: 'Go.' },
    {
      role: 'assistant',
      by: 'gpt-5.2',
      content: [
        { type: 'thinking', thinking: 'I weigh it.', signature: '', origin },
        { type: 'text', text: 'Zero.' },
      ],
    },
    { role: 'user', content: 'On.' },
  ] as const
  const refuse: Refuse = ({ body }) =>
    JSON.stringify(body.input).includes('"old')
      ? {
          status: 400,
          body: openAiError(
            'The encrypted content old… could not be verified. Reason: organization_id did not match.',
            null,
            'invalid_encrypted_content',
          ),
        }
      : undefined

  test.each([
    ['by its code', 'The encrypted content for item rs_1 could not be verified.', 'invalid_encrypted_content'],
    ['by words alone', 'reasoning `encrypted_content` was not issued to this caller', null],
  ])('is refused %s, in a response or a stream, and the reply comes without it', async (_how, message, code) => {
    const error = { type: 'error', code, message, param: null }
    for (const refuseOld of [
      (response: ServerResponse): void => void response.writeHead(400).end(JSON.stringify({ error })),
      (response: ServerResponse): void => {
        beginStream(response)
        response.end(responsesBytes([...replyEvents([]).slice(0, 1), error]))
      },
    ]) {
      const server = await startRawServer((response) => {
        if (String(server.bodies.at(-1)).includes('old-1')) {
          refuseOld(response)
          return
        }
        beginStream(response)
        response.end(responsesBytes(replyEvents([messageItem('Yes.')])))
      })
      const model = openai({ model: 'gpt-5.2', baseUrl: server.url, apiKey: 'key' })
      const { reply, updates } = await call(model, { request: requestOf({ messages: before }) })
      expect([reply?.message.content, server.bodies.length]).toEqual([[{ type: 'text', text: 'Yes.' }], 2])
      const types = updates.flatMap((update) => (update.type === 'api_event' ? [update.event.type] : []))
      expect(types.filter((type) => type === 'message_start')).toHaveLength(1)
    }
  })

  test('ends the reply if the stream refuses anything else', async () => {
    const error = { type: 'error', code: null, message: "Unknown parameter: 'store'.", param: 'store' }
    const server = await startRawServer((response) => {
      beginStream(response)
      response.end(responsesBytes([...replyEvents([]).slice(0, 1), error]))
    })
    const { error: thrown } = await call(openai({ model: 'gpt-5.2', baseUrl: server.url, apiKey: 'key' }))
    expect([recordOf(thrown).message.includes('Unknown parameter'), server.bodies.length]).toEqual([true, 1])
  })

  test('ends the reply if the stream refuses it after content', async () => {
    const error = { type: 'error', code: 'invalid_encrypted_content', message: 'It could not be verified.' }
    const [created = {}, ...more] = replyEvents([messageItem('One.')])
    const delta = { type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: 'On' }
    for (const said of [[delta], more.slice(0, -1)]) {
      const server = await startRawServer((response) => {
        beginStream(response)
        response.end(responsesBytes([created, ...said, error]))
      })
      const model = openai({ model: 'gpt-5.2', baseUrl: server.url, apiKey: 'key' })
      const { reply, error: thrown } = await call(model, { request: requestOf({ messages: before }) })
      expect(recordOf(reply?.streamError ?? thrown).message).toContain('verified')
      expect(server.bodies.length).toBe(1)
    }
  })

  test('is omitted after a refusal, and newer reasoning is sent', async () => {
    const turns = [[reasoningItem('new-1'), messageItem('One.')], [messageItem('Two.')]]
    const service = await startResponsesService(turns, refuse)
    const model = modelAt(service)
    const { reply } = await call(model, { request: requestOf({ messages: before }) })
    expect(reply?.warnings).toEqual([expect.stringContaining('cannot read earlier reasoning of gpt-5.2')])
    const messages = [
      ...before,
      { role: 'assistant', by: 'gpt-5.2', content: reply?.message.content ?? [] },
      { role: 'user', content: 'On.' },
    ] as const
    await textOf(model, { messages })
    const thoughts = service.asked.map(({ body }) =>
      (body.input as readonly JsonObject[]).flatMap(({ encrypted_content }) => encrypted_content ?? []),
    )
    expect(thoughts).toEqual([['old-1'], [], ['new-1']])
  })

  test('may be refused again, as by a gateway with several accounts', async () => {
    let account = 0
    const refuseOthers: Refuse = ({ body }) => {
      const thoughts = (body.input as readonly JsonObject[]).flatMap(({ encrypted_content }) => encrypted_content ?? [])
      if (thoughts.every((thought) => thought === `by ${account}`)) return undefined
      return { status: 400, body: openAiError('It could not be verified.', null, 'invalid_encrypted_content') }
    }
    const turns = Array.from({ length: 6 }, (_, turn) => [reasoningItem(`by ${turn}`), messageItem('One.')])
    const service = await startResponsesService(turns, refuseOthers)
    const model = modelAt(service)
    const messages: ModelMessage[] = [...before]
    for (; account < turns.length; account++) {
      const { reply, error } = await call(model, { request: requestOf({ messages: [...messages] }) })
      expect(error).toBeUndefined()
      messages.push({ role: 'assistant', by: 'gpt-5.2', content: reply?.message.content ?? [] })
      messages.push({ role: 'user', content: 'On.' })
    }
    // Each turn has two requests: with reasoning, and without it.
    expect(service.asked.length).toBe(2 * turns.length)
    const never = await startResponsesService(turns, () => ({
      status: 400,
      body: openAiError('It could not be verified.', null, 'invalid_encrypted_content'),
    }))
    expect(recordOf((await call(modelAt(never), { request: requestOf({ messages }) })).error).kind).toBe(
      'invalid_request',
    )
    expect(never.asked.length).toBe(2)
  })
})
