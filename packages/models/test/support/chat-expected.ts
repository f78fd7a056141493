import { noUsage } from '@halting/core/adapters'
import type { AssistantMessage, ContentBlock, ModelReply, Usage } from '@halting/core'

const api = 'chat_completions'

/** The expected replies of the handwritten streams, also written by hand. */
export function handMade(name: string): ModelReply {
  const reply = replies[name]
  if (reply === undefined) throw new Error(`nothing is expected of ${name}`)
  return reply
}

const replies: { readonly [name: string]: ModelReply } = {
  // Alternating pieces of two calls with text around them, and multi-byte characters.
  'chat-interleaved': reply(
    [
      { type: 'text', text: 'I look — both. 🌍' },
      {
        type: 'tool_use',
        id: 'a',
        name: 'Read',
        input: { path: 'über.ts' },
        origin: { api, arguments: '{"path": "über.ts"}' },
      },
      { type: 'tool_use', id: 'b', name: 'Grep', input: { for: '東京' } },
      { type: 'text', text: 'And so.' },
    ],
    'tool_use',
    { input_tokens: 20, cache_read_input_tokens: 30, output_tokens: 20 },
  ),
  // Every call at index 0 and without an id: an object as input, then a string, then nothing.
  'chat-same-place': reply(
    [
      {
        type: 'tool_use',
        id: '23jd7qv3g',
        name: 'Read',
        input: { path: 'a' },
        origin: { api, extra_content: { google: { thought_signature: 's1' } } },
      },
      { type: 'tool_use', id: 'iuq60jaoy', name: 'Read', input: { path: 'b' } },
      { type: 'tool_use', id: '28bo9k8z9', name: 'List', input: {} },
    ],
    'tool_use',
    { input_tokens: 9, output_tokens: 11 },
  ),
  // A router: reasoning twice, signed, and encrypted next to the call.
  'chat-router': reply(
    [
      {
        type: 'thinking',
        thinking: 'Let me see.',
        signature: '',
        origin: {
          api,
          field: 'reasoning',
          details: [{ type: 'reasoning.text', text: 'Let me see.', index: 0, format: 'f1', signature: 'sig=' }],
        },
      },
      { type: 'text', text: 'Here.' },
      {
        type: 'thinking',
        thinking: '',
        signature: '',
        origin: {
          api,
          field: 'reasoning',
          details: [{ type: 'reasoning.encrypted', data: 'e1', id: 'call_1', index: 1 }],
        },
      },
      {
        type: 'tool_use',
        id: 'call_1',
        name: 'Read',
        input: { path: 1 },
        origin: { api, arguments: '{"path": 1.0}' },
      },
    ],
    'tool_use',
    { input_tokens: 16, cache_read_input_tokens: 8, cache_creation_input_tokens: 16, output_tokens: 11 },
    { id: 'gen-1', model: 'lab/model' },
  ),
  // Reasoning as parts of the content.
  'chat-content-parts': reply(
    [
      { type: 'thinking', thinking: 'Hm, yes.', signature: '', origin: { api, field: 'content' } },
      { type: 'text', text: 'Oui !' },
      { type: 'tool_use', id: 'D681PevKs', name: 'Read', input: { path: 'a' } },
    ],
    'tool_use',
    { input_tokens: 7, output_tokens: 5 },
  ),
  // An empty object before the pieces, the name in each, and the complete input again. Then a call that may have been
  // cut.
  'chat-empty-first': reply(
    [{ type: 'tool_use', id: 'x', name: 'Edit', input: { a: [1, { b: '}' }] } }],
    'max_tokens',
    { input_tokens: 3, output_tokens: 3 },
  ),
  // A single call in the older format, without usage.
  'chat-legacy-function': {
    ...reply([{ type: 'tool_use', id: '23jd7qv3g', name: 'Read', input: { path: 'a' } }], 'tool_use', {}),
    billed: 'unknown',
  },
}

function reply(
  content: readonly ContentBlock[],
  stop_reason: string,
  usage: Partial<Usage>,
  named: Partial<AssistantMessage> = {},
): ModelReply {
  return {
    message: {
      role: 'assistant',
      id: 'c1',
      model: 'm',
      content,
      stop_reason,
      stop_sequence: null,
      usage: { ...noUsage, ...usage },
      ...named,
    },
  }
}
