// Any conversation, rendered by the product and in a straightforward way.
import { deepFreeze } from '@halting/core/adapters'
import type { ContentBlock, JsonObject, ModelMessage } from '@halting/core'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { createChatBody } from '../src/openai/chat-body.ts'
import { requestOf } from './support/call.ts'
import { referenceMessages, separated } from './support/chat-reference.ts'
import { drawn } from './support/deep.ts'

const api = 'chat_completions'
const text = (words: string): ContentBlock => ({ type: 'text', text: words })
const image: ContentBlock = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aGk=' } }

const words = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('', ' ', 'error: x', 'ünï 東京 🌍', '\ud800'))
const textBlock = words.map(text)
const documents = fc.constantFrom<ContentBlock>(
  { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'words' } },
  { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'x' } },
)
const id = fc.constantFrom('a', 'b', 'call_1', 'functions.Read:0')
const inside = fc.oneof(textBlock, fc.constant(image), documents)
const results = fc
  .tuple(id, fc.oneof(words, fc.array(inside, { maxLength: 3 })), fc.boolean())
  .map(([tool_use_id, content, is_error]): ContentBlock => ({ type: 'tool_result', tool_use_id, content, is_error }))
const userMessage = fc.oneof(
  words.map((content): ModelMessage => ({ role: 'user', content })),
  fc
    .array(fc.oneof(textBlock, fc.constant(image), documents, results), { maxLength: 5 })
    .map((content): ModelMessage => ({ role: 'user', content })),
)
const calls = fc
  .tuple(id, fc.dictionary(fc.string(), fc.jsonValue()), fc.option(fc.constantFrom('{"p": 1.0}', '{}')))
  .map(([of, input, written]): ContentBlock => ({
    type: 'tool_use',
    id: of,
    name: 'Read',
    input,
    ...(written !== null && { origin: { api, arguments: written, extra_content: { google: written } } }),
  }))
const thoughts = fc.tuple(words, fc.constantFrom(api, 'messages')).map(([thinking, from]): ContentBlock => ({
  type: 'thinking',
  thinking,
  signature: '',
  origin: { api: from, field: 'reasoning_content' },
}))
const assistantMessage = fc
  .tuple(
    fc.array(
      fc.oneof(textBlock, calls, thoughts, fc.constant<ContentBlock>({ type: 'redacted_thinking', data: 'x' })),
      { maxLength: 5 },
    ),
    fc.constantFrom(undefined, 'asked', 'other'),
  )
  .map(([content, by]): ModelMessage => ({ role: 'assistant', content, ...(by !== undefined && { by }) }))

test('serializes a body like a plain rendering does, in one UTF-8 buffer, however it grew', () => {
  fc.assert(
    fc.property(
      words,
      fc.array(fc.oneof(userMessage, assistantMessage), { maxLength: 12 }),
      fc.nat(12),
      fc.boolean(),
      (system, messages, before, separatesUserFromResults) => {
        const make = createChatBody({
          model: 'm',
          id: 'asked',
          hasShortCallIds: false,
          separatesUserFromResults,
          outputLimitField: 'max_tokens',
          asksForUsage: true,
        })
        make(requestOf({ system, messages: messages.slice(0, before) }))
        const bytes = make(requestOf({ system, messages: deepFreeze(messages) }))
        expect(bytes).toBeInstanceOf(Uint8Array)
        const body = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) as JsonObject
        const plain = referenceMessages(system, messages, 'asked')
        const expected = separatesUserFromResults ? separated(plain) : plain
        expect(body.messages).toEqual(JSON.parse(JSON.stringify(expected)))
      },
    ),
    { numRuns: drawn(500) },
  )
})
