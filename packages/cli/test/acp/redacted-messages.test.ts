// Spec R-SECRET-6b: what an editor is sent holds no key of the program.
import type { AnyMessage } from '@agentclientprotocol/sdk'
import { expect, test } from 'vitest'
import { redactionStream } from '../../src/acp/acp.ts'

async function sendThroughRedaction(message: object): Promise<unknown> {
  const { readable, writable } = redactionStream((text) => text.replaceAll('sk-key', '[REDACTED]'))
  const writer = writable.getWriter()
  // The test writes what an agent would write.
  void writer.write(message as AnyMessage).then(() => writer.close())
  const { value } = await readable.getReader().read()
  return value
}

test('redacts updates, questions and answers', async () => {
  const update = { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: 'It is sk-key.' } }
  const message = { jsonrpc: '2.0', method: 'session/update', params: { sessionId: 's', update } }
  expect(JSON.stringify(await sendThroughRedaction(message))).toContain('It is [REDACTED].')
  const answer = { jsonrpc: '2.0', id: 1, error: { code: -32603, message: 'sk-key is refused' } }
  expect(await sendThroughRedaction(answer)).toEqual({
    ...answer,
    error: { code: -32603, message: '[REDACTED] is refused' },
  })
})

test('does not redact a user file that is written through the editor', async () => {
  const params = { sessionId: 's', path: '/work/.env', content: 'KEY=sk-key' }
  const message = { jsonrpc: '2.0', id: 1, method: 'fs/write_text_file', params }
  expect(await sendThroughRedaction(message)).toEqual(message)
})
