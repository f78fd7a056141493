import type { ModelErrorJson } from '@halting/core/adapters'

/** Responses and their expected classification, for services and local servers of this protocol. */
export type Failure = readonly [
  service: string,
  status: number,
  body: unknown,
  kind: ModelErrorJson['kind'],
  retryable: boolean,
]

export const openAi = (message: string, code: string | null, type = 'invalid_request_error'): unknown => ({
  error: { message, type, param: null, code },
})
const vllm = (message: string, type = 'BadRequestError', code = 400): unknown => ({
  object: 'error',
  message,
  type,
  param: null,
  code,
})
export const gemini = (code: number, message: string, status: string): unknown => [{ error: { code, message, status } }]
export const router = (code: number, message: string, raw?: string): unknown => ({
  error: { code, message, ...(raw !== undefined && { metadata: { provider_name: 'Lab', raw } }) },
})

export const failures: readonly Failure[] = [
  ['OpenAI', 401, openAi('Incorrect API key provided: sk-x.', 'invalid_api_key'), 'authentication_failed', false],
  ['OpenAI', 404, openAi('The model `gpt-9` does not exist', 'model_not_found'), 'model_not_found', false],
  [
    'OpenAI',
    429,
    openAi(
      'You exceeded your current quota, please check your plan and billing details.',
      'insufficient_quota',
      'insufficient_quota',
    ),
    'billing_error',
    false,
  ],
  [
    'OpenAI',
    429,
    openAi(
      'Rate limit reached for gpt-5 on requests per min (RPM): Limit 3. You can add a payment method at https://platform.openai.com/account/billing.',
      'rate_limit_exceeded',
      'requests',
    ),
    'rate_limit',
    true,
  ],
  [
    'OpenAI',
    429,
    openAi(
      'Request too large for gpt-5 on tokens per min (TPM): Limit 30000, Requested 40000.',
      'rate_limit_exceeded',
      'tokens',
    ),
    'prompt_too_long',
    false,
  ],
  [
    'OpenAI',
    400,
    openAi(
      "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.",
      'context_length_exceeded',
    ),
    'prompt_too_long',
    false,
  ],
  ['OpenAI', 400, openAi('Your input exceeds the context window of this model.', null), 'prompt_too_long', false],
  [
    'OpenAI',
    400,
    openAi('max_tokens is too large: 100000. This model supports at most 16384 completion tokens.', 'invalid_value'),
    'invalid_request',
    false,
  ],
  [
    'OpenAI',
    400,
    openAi('You uploaded an unsupported image. Please make sure your image is valid.', 'invalid_image_format'),
    'image',
    false,
  ],
  ['OpenAI', 400, openAi('Invalid image.', 'image_parse_error'), 'image', false],
  ['OpenAI', 400, openAi('Invalid content type. image_url is only supported by certain models.', null), 'image', false],
  [
    'OpenAI',
    400,
    openAi("Unsupported parameter: 'max_tokens' is not supported with this model.", 'unsupported_parameter'),
    'invalid_request',
    false,
  ],
  [
    'OpenAI',
    500,
    openAi('The server had an error while processing your request.', null, 'server_error'),
    'server_error',
    true,
  ],
  [
    'OpenAI',
    503,
    openAi('The engine is currently overloaded, please try again later', null, 'server_error'),
    'overloaded',
    true,
  ],
  [
    'Azure',
    401,
    {
      statusCode: 401,
      message: 'Unauthorized. Access token is missing, invalid, audience is incorrect, or have expired.',
    },
    'authentication_failed',
    false,
  ],
  [
    'Azure',
    404,
    { error: { code: 'DeploymentNotFound', message: 'The API deployment for this resource does not exist.' } },
    'model_not_found',
    false,
  ],
  [
    'Azure',
    429,
    {
      error: {
        code: '429',
        message:
          'Requests have exceeded the token rate limit of your tier. Please retry after 26 seconds. Go to https://aka.ms/oai/quotaincrease to increase it.',
      },
    },
    'rate_limit',
    true,
  ],
  [
    'Azure',
    400,
    {
      error: { code: 'content_filter', message: 'The response was filtered.', status: 400, innererror: { code: 'x' } },
    },
    'invalid_request',
    false,
  ],
  [
    'vLLM',
    400,
    vllm(
      "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4500 in the messages, 500 in the completion).",
    ),
    'prompt_too_long',
    false,
  ],
  [
    'vLLM',
    400,
    vllm(
      "'max_tokens' or 'max_completion_tokens' is too large: 5000. This model's maximum context length is 4096 tokens and your request has 300 input tokens",
    ),
    'prompt_too_long',
    false,
  ],
  ['vLLM', 400, vllm('At most 0 image(s) may be provided in one request.'), 'image', false],
  ['vLLM', 404, vllm('The model `x` does not exist.', 'NotFoundError', 404), 'model_not_found', false],
  [
    'vLLM',
    400,
    { error: { message: 'x is not a multimodal model', type: 'BadRequestError', param: null, code: 400 } },
    'image',
    false,
  ],
  [
    'llama.cpp',
    400,
    {
      error: {
        code: 400,
        message: 'the request exceeds the available context size',
        type: 'exceed_context_size_error',
        n_ctx: 4096,
      },
    },
    'prompt_too_long',
    false,
  ],
  [
    'llama.cpp',
    500,
    {
      error: {
        code: 500,
        message: 'the request exceeds the available context size. try increasing the context size',
        type: 'server_error',
      },
    },
    'prompt_too_long',
    false,
  ],
  [
    'llama.cpp',
    500,
    {
      error: {
        code: 500,
        message: 'image input is not supported - hint: you may need to provide the mmproj',
        type: 'server_error',
      },
    },
    'image',
    false,
  ],
  [
    'llama.cpp',
    503,
    { error: { code: 503, message: 'Loading model', type: 'unavailable_error' } },
    'server_error',
    true,
  ],
  [
    'llama.cpp',
    401,
    { error: { code: 401, message: 'Invalid API Key', type: 'authentication_error' } },
    'authentication_failed',
    false,
  ],
  [
    'Ollama',
    404,
    { error: { message: 'model "x" not found, try pulling it first', type: 'api_error', param: null, code: null } },
    'model_not_found',
    false,
  ],
  ['Ollama', 400, { error: 'registry.ollama.ai/library/x:latest does not support tools' }, 'invalid_request', false],
  ['Ollama', 500, { error: 'this model is missing data required for image input' }, 'image', false],
]
