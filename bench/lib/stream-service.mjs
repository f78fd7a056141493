// A model service in a process of its own that streams, by the Messages API. A reply begins with a number of lines at once; then come tokens of four characters, one every few
// milliseconds.
import { createServer } from 'node:http'

const words = 'the quick brown fox jumps over a lazy dog and runs into the woods behind the house where it waits for rain. '
let plan = { lines: 0, tokens: 0, everyMs: 5, call: undefined }

process.on('message', (given) => {
  plan = { everyMs: 5, ...given }
  process.send({ planned: true })
})

const service = createServer((request, response) => {
  const parts = []
  request.on('data', (part) => parts.push(part))
  request.once('end', () => answer(request.url ?? '', response))
})
service.listen(0, '127.0.0.1', () => process.send({ port: service.address().port }))

async function answer(url, response) {
  if (!/\/messages(?:\?|$)/.test(url)) return response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":{"message":"not here"}}')
  const send = (event) => response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
  const usage = { input_tokens: 10, output_tokens: plan.tokens }
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  send({
    type: 'message_start',
    message: { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [], stop_reason: null, stop_sequence: null, usage },
  })
  if (plan.call !== undefined) return answerByCall(plan.call, send, response)
  send({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } })
  process.send({ streaming: 'begins' })
  // A paragraph of one line and the empty line before it.
  for (let line = 0; line < plan.lines; line += 2) {
    send({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: `Line ${line} of what was said before.\n\n` } })
    if (line % 200 === 0) await new Promise((resolve) => setImmediate(resolve))
  }
  for (let token = 0; token < plan.tokens; token++) {
    const at = (token * 4) % words.length
    // A paragraph is 50 tokens.
    const text = (words + words).slice(at, at + 4) + (token % 50 === 49 ? '\n\n' : '')
    send({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } })
    await new Promise((resolve) => setTimeout(resolve, plan.everyMs))
  }
  send({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: '\n\nEndOfReply' } })
  send({ type: 'content_block_stop', index: 0 })
  send({ type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: plan.tokens } })
  send({ type: 'message_stop' })
  response.end()
}

/** The next request contains the result, and is answered by a word. */
function answerByCall({ name, input }, send, response) {
  plan = { lines: 0, tokens: 0, everyMs: 5 }
  send({ type: 'content_block_start', index: 0, content_block: { type: 'tool_use', id: 'toolu_1', name, input: {} } })
  send({ type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: JSON.stringify(input) } })
  send({ type: 'content_block_stop', index: 0 })
  send({ type: 'message_delta', delta: { stop_reason: 'tool_use', stop_sequence: null }, usage: { output_tokens: 1 } })
  send({ type: 'message_stop' })
  response.end()
  process.send({ streaming: 'calls' })
}
