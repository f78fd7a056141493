import { openAi, router } from './chat-failures.ts'

/**
 * How a service rejected a prompt, and its data about the window: tokens of the request, the limit, and whether the cap
 * of the reply counts as well.
 */
export type Refusal = readonly [
  service: string,
  status: number,
  body: unknown,
  used: number | null,
  limit: number | undefined,
  includesOutput?: true,
]

const anthropic = (message: string, type = 'invalid_request_error'): unknown => ({
  type: 'error',
  error: { type, message },
})
const flat = (message: string): unknown => ({
  object: 'error',
  message,
  type: 'BadRequestError',
  param: null,
  code: 400,
})
const gemini = (message: string): unknown => [{ error: { code: 400, message, status: 'INVALID_ARGUMENT' } }]
const over = 'context_length_exceeded'

export const refusals: readonly Refusal[] = [
  ['Anthropic', 400, anthropic('prompt is too long: 210000 tokens > 200000 maximum'), 210_000, 200_000],
  [
    'Anthropic',
    413,
    anthropic('prompt is too long: 210000 tokens > 200000 maximum', 'request_too_large'),
    210_000,
    200_000,
  ],
  [
    'Anthropic',
    400,
    anthropic(
      'input length and `max_tokens` exceed context limit: 199759 + 8192 > 200000, decrease input length or `max_tokens` and try again',
    ),
    199_759,
    200_000,
    true,
  ],
  ['Anthropic', 413, anthropic('Request exceeds the maximum size', 'request_too_large'), null, undefined],
  [
    'Bedrock',
    400,
    { message: 'The model returned the following errors: prompt is too long: 200001 tokens > 199999 maximum' },
    200_001,
    199_999,
  ],
  ['Bedrock', 400, { message: 'Input is too long for requested model.' }, null, undefined],
  [
    'OpenAI',
    400,
    openAi(
      "This model's maximum context length is 128000 tokens. However, your messages resulted in 204308 tokens. Please reduce the length of the messages.",
      over,
    ),
    204_308,
    128_000,
  ],
  [
    'OpenAI, with separators',
    400,
    openAi(
      "This model's maximum context length is 200,000 tokens. However, your messages resulted in 297,006 tokens.",
      over,
    ),
    297_006,
    200_000,
  ],
  [
    'OpenAI',
    400,
    openAi(
      "This model's maximum context length is 4097 tokens, however you requested 4322 tokens (4066 in your prompt; 256 for the completion). Please reduce your prompt; or completion length.",
      null,
    ),
    4_066,
    4_097,
    true,
  ],
  [
    'OpenAI, with functions',
    400,
    openAi(
      "This model's maximum context length is 8192 tokens. However, you requested 8213 tokens (6683 in the messages, 730 in the functions, and 800 in the completion).",
      over,
    ),
    7_413,
    8_192,
    true,
  ],
  [
    'OpenAI, Azure',
    400,
    openAi(
      'Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 3148588 tokens. Please reduce the length of the messages.',
      over,
    ),
    3_148_588,
    272_000,
  ],
  [
    'OpenAI, with separators',
    400,
    openAi(
      'Input tokens exceed the configured limit of 272,000 tokens. Your messages resulted in 297,006 tokens.',
      null,
    ),
    297_006,
    272_000,
  ],
  ['OpenAI', 400, openAi('Your input exceeds the context window of this model.', over), null, undefined],
  [
    "OpenAI, a minute's allowance",
    429,
    openAi('Request too large for gpt-5 on tokens per min (TPM): Limit 30000, Requested 40000.', 'rate_limit_exceeded'),
    40_000,
    30_000,
  ],
  [
    "Groq, a minute's allowance",
    413,
    openAi(
      'Request too large for model `x` in organization `org_y` service tier `on_demand` on tokens per minute (TPM): Limit 8000, Requested 10013, please reduce your message size and try again.',
      'rate_limit_exceeded',
    ),
    10_013,
    8_000,
  ],
  ['Groq', 400, openAi('Please reduce the length of the messages or completion.', over), null, undefined],
  ['Groq', 400, openAi('Please reduce the length of the messages or completion.', null), null, undefined],
  [
    'DeepSeek',
    400,
    openAi(
      "This model's maximum context length is 131072 tokens. However, you requested 131134 tokens (122942 in the messages, 8192 in the completion). Please reduce the length of the messages or completion.",
      'invalid_request_error',
    ),
    122_942,
    131_072,
    true,
  ],
  [
    'DeepSeek, in all',
    400,
    openAi("This model's maximum context length is 131072 tokens. However, you requested 168754 tokens", null),
    168_754,
    131_072,
  ],
  [
    'OpenRouter',
    400,
    router(
      400,
      "This endpoint's maximum context length is 204800 tokens. However, you requested about 205432 tokens (81684 of text input, 3748 of tool input, 120000 in the output). Please reduce the length of either one.",
    ),
    85_432,
    204_800,
    true,
  ],
  [
    'OpenRouter',
    400,
    router(
      400,
      "This endpoint's maximum context length is 32768 tokens. However, you requested about 40000 tokens (40000 of text input).",
    ),
    40_000,
    32_768,
  ],
  [
    'OpenRouter, message of the upstream service',
    400,
    router(400, 'Provider returned error', JSON.stringify(anthropic('prompt is too long: 9 tokens > 8 maximum'))),
    9,
    8,
  ],
  [
    'OpenRouter, fields of the upstream service',
    400,
    router(
      400,
      'Provider returned error',
      '{"error":{"message":"No.","type":"exceed_context_size_error","n_ctx":8,"n_prompt_tokens":9}}',
    ),
    9,
    8,
  ],
  [
    'Poolside',
    400,
    router(
      400,
      'Provider returned error',
      'Input length 131393 exceeds the maximum allowed input length of 131040 tokens.',
    ),
    131_393,
    131_040,
  ],
  [
    'vLLM, which stops counting',
    400,
    flat(
      "This model's maximum context length is 262144 tokens. However, you requested 128000 output tokens and your prompt contains at least 134145 input tokens, for a total of at least 262145 tokens. (parameter=input_tokens, value=134145)",
    ),
    null,
    262_144,
    true,
  ],
  [
    'vLLM',
    400,
    flat(
      "This model's maximum context length is 202752 tokens. However, you requested 64000 output tokens and your prompt contains 139000 input tokens.",
    ),
    139_000,
    202_752,
    true,
  ],
  [
    'vLLM',
    400,
    flat(
      "This model's maximum context length is 200 tokens. However, your request has 203 input tokens. Please reduce the length of the input messages.",
    ),
    203,
    200,
  ],
  [
    'vLLM',
    400,
    flat(
      "You passed 202753 input tokens and requested 0 output tokens. However, the model's context length is only 202752 tokens, resulting in a maximum input length of 202752 tokens.",
    ),
    202_753,
    202_752,
  ],
  [
    'vLLM, which stops counting',
    400,
    openAi(
      "You passed 67073 input tokens and requested 64000 output tokens. However, the model's context length is only 131072 tokens, resulting in a maximum input length of 67072 tokens. Please reduce the length of the input prompt. (parameter=input_tokens, value=67073)",
      null,
    ),
    null,
    131_072,
    true,
  ],
  [
    'vLLM, a cap as large as the window',
    400,
    flat(
      "'max_tokens' or 'max_completion_tokens' is too large: 16384. This model's maximum context length is 16384 tokens and your request has 2522 input tokens (16384 > 16384 - 2522).",
    ),
    2_522,
    16_384,
    true,
  ],
  [
    'vLLM, a cap that fits with a shorter prompt',
    400,
    flat(
      "'max_tokens' or 'max_completion_tokens' is too large: 8192. This model's maximum context length is 65536 tokens and your request has 57879 input tokens (8192 > 65536 - 57879).",
    ),
    57_879,
    65_536,
    true,
  ],
  [
    'vLLM',
    400,
    flat('The decoder prompt (length 35247) is longer than the maximum model length of 1000.'),
    35_247,
    1_000,
  ],
  ['vLLM', 400, flat('Input prompt (36893 tokens) is too long and exceeds limit of 1000'), 36_893, 1_000],
  [
    'SGLang, Together',
    400,
    flat("The input (345516 tokens) is longer than the model's context length (262144 tokens)."),
    345_516,
    262_144,
  ],
  [
    'SGLang, with separators',
    400,
    flat("The input (691,793 tokens) is longer than the model's context length (540000)."),
    691_793,
    540_000,
  ],
  [
    'SGLang, LiteLLM',
    400,
    flat(
      "Requested token count exceeds the model's maximum context length of 8192 tokens. You requested a total of 16414 tokens: 30 tokens from the input messages and 16384 tokens for the completion.",
    ),
    30,
    8_192,
    true,
  ],
  [
    'LiteLLM',
    400,
    openAi("Input length (265330) exceeds model's maximum context length (262144).", null),
    265_330,
    262_144,
  ],
  [
    'Together',
    422,
    openAi(
      'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 3997 `inputs` tokens and 100 `max_new_tokens`',
      null,
    ),
    3_997,
    4_096,
    true,
  ],
  [
    'Together',
    422,
    openAi('Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193.', null),
    null,
    8_193,
    true,
  ],
  [
    'Together',
    422,
    openAi('Input validation error: `inputs` must have less than 1024 tokens. Given: 1244', null),
    1_244,
    1_024,
  ],
  [
    'Gemini',
    400,
    gemini('The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).'),
    1_200_293,
    1_048_576,
  ],
  [
    'Gemini',
    400,
    gemini('The input token count exceeds the maximum number of tokens allowed 1048576.'),
    null,
    1_048_576,
  ],
  [
    'Vertex',
    400,
    gemini(
      'Unable to submit request because the input token count is 1251952 but model only supports up to 1048576. Reduce the input token count and try again.',
    ),
    1_251_952,
    1_048_576,
  ],
  [
    'Mistral',
    400,
    flat('Prompt contains 40687 tokens and 0 draft tokens, too large for model with 32768 maximum context length'),
    40_687,
    32_768,
  ],
  [
    'Mistral',
    400,
    flat('Prompt contains 40687 tokens, too large for model with 32768 maximum context length'),
    40_687,
    32_768,
  ],
  [
    'xAI',
    400,
    {
      code: 'Client specified an invalid argument',
      error: "This model's maximum prompt length is 131072 but the request contains 136973 tokens.",
    },
    136_973,
    131_072,
  ],
  [
    'llama.cpp, in words',
    400,
    openAi('request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it', null),
    5_000,
    4_096,
  ],
  [
    'llama.cpp, in fields',
    400,
    {
      error: {
        code: 400,
        message:
          'the request exceeds the available context size. try increasing the context size or enable context shift',
        type: 'exceed_context_size_error',
        n_prompt_tokens: 14_429,
        n_ctx: 8_192,
      },
    },
    14_429,
    8_192,
  ],
  [
    'llama.cpp, in fields without words',
    400,
    { error: { code: 400, message: 'No.', type: 'exceed_context_size_error', n_prompt_tokens: 0, n_ctx: 8_192 } },
    null,
    8_192,
  ],
  ['llama-cpp-python', 500, { error: { message: 'Requested tokens (516) exceed context window of 512' } }, 516, 512],
  [
    'LM Studio',
    400,
    {
      error:
        'The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 13055>= n_ctx: 4096). Try to load the model with a larger context length.',
    },
    13_055,
    4_096,
  ],
  [
    'LM Studio',
    400,
    {
      error:
        'Trying to keep the first 111490 tokens when context the overflows. However, the model is loaded with context length of only 32768 tokens, which is not enough.',
    },
    111_490,
    32_768,
  ],
  ['Ollama', 400, { error: 'prompt too long; exceeded max context length by 15935 tokens' }, null, undefined],
  [
    'Ollama, Fireworks',
    400,
    openAi('The prompt is too long: 40177, model maximum context length: 32767', 'invalid_request_error'),
    40_177,
    32_767,
  ],
  [
    'Moonshot',
    400,
    openAi('Invalid request: Your request exceeded model token limit: 262144 (requested: 269030)', null),
    269_030,
    262_144,
  ],
  ['Moonshot', 400, openAi('Invalid request: Your request exceeded model token limit: 8192', null), null, 8_192],
  [
    'Cerebras',
    400,
    openAi(
      'Please reduce the length of the messages or completion. Current length is 42328 while limit is 40000',
      null,
    ),
    42_328,
    40_000,
  ],
  [
    'GitHub Copilot',
    400,
    {
      error: {
        message: 'prompt token count of 138898 exceeds the limit of 64000',
        code: 'model_max_prompt_tokens_exceeded',
      },
    },
    138_898,
    64_000,
  ],
  ['GitHub Copilot', 400, { error: { message: 'No.', code: 'model_max_prompt_tokens_exceeded' } }, null, undefined],
  [
    'SiliconFlow',
    400,
    { message: 'length of prompt_tokens (163280) must be less than max_seq_len (32768).' },
    163_280,
    32_768,
  ],
  [
    'Qwen',
    400,
    openAi('<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 204800]', null),
    null,
    204_800,
  ],
  [
    'Cohere',
    400,
    { message: 'too many tokens: total number of tokens in the prompt exceeds the limit of 4081' },
    null,
    4_081,
  ],
  [
    'MiniMax, which adds its code',
    400,
    openAi('invalid params, context window exceeds limit (2013)', null),
    null,
    undefined,
  ],
  ['a number cut off', 400, openAi("This model's maximum context length is 128k tokens", over), null, undefined],
  [
    'a number in parts',
    400,
    openAi("This model's maximum context length is 1.5 million tokens", over),
    null,
    undefined,
  ],
  [
    'a number beyond all',
    400,
    openAi(`This model's maximum context length is ${'9'.repeat(40)} tokens`, over),
    null,
    undefined,
  ],
  ['nothing', 400, openAi("This model's maximum context length is 0 tokens", over), null, undefined],
  ['a page', 413, '<html><h1>413 Request Entity Too Large</h1></html>', null, undefined],
  ['plain text', 400, "Request rejected: this model's maximum context length is 8192 tokens.", null, 8_192],
]
