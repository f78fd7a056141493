import { agentLoop } from '@earendil-works/pi-agent-core'
import { createAssistantMessageEventStream } from '@earendil-works/pi-ai'
import { delay, deltas, forever, inputOf, inputSchema, inputTokens, lastWords, outputTokens, resultOf, toolDescription, toolName } from '../lib/script.mjs'

/** @import { Play, Played } from '../lib/script.mjs' */

const model = {
  id: 'bench',
  name: 'bench',
  api: 'bench',
  provider: 'bench',
  baseUrl: '',
  reasoning: false,
  input: ['text'],
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
  contextWindow: 1_000_000_000,
  maxTokens: 64_000,
}
const usage = {
  input: inputTokens,
  output: outputTokens,
  cacheRead: 0,
  cacheWrite: 0,
  totalTokens: inputTokens + outputTokens,
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
}

/** The stream as pi's own providers write it: one message that grows, and an event for each piece. */
function reply(stream, turn, turns) {
  const partial = { role: 'assistant', content: [], api: 'bench', provider: 'bench', model: 'bench', usage, stopReason: 'stop', timestamp: Date.now() }
  const last = turn >= turns
  const text = { type: 'text', text: '' }
  stream.push({ type: 'start', partial })
  partial.content.push(text)
  stream.push({ type: 'text_start', contentIndex: 0, partial })
  for (const delta of last ? [lastWords] : deltas) {
    text.text += delta
    stream.push({ type: 'text_delta', contentIndex: 0, delta, partial })
  }
  stream.push({ type: 'text_end', contentIndex: 0, content: text.text, partial })
  if (!last) {
    const toolCall = { type: 'toolCall', id: `call_${turn}`, name: toolName, arguments: inputOf(turn) }
    partial.content.push(toolCall)
    stream.push({ type: 'toolcall_start', contentIndex: 1, partial })
    stream.push({ type: 'toolcall_end', contentIndex: 1, toolCall, partial })
    partial.stopReason = 'toolUse'
  }
  stream.push({ type: 'done', reason: partial.stopReason, message: partial })
  stream.end()
}

/** The end of an aborted stream, as pi's own providers write it. */
function fail(stream) {
  const error = { role: 'assistant', content: [], api: 'bench', provider: 'bench', model: 'bench', usage, stopReason: 'aborted', timestamp: Date.now() }
  stream.push({ type: 'error', reason: 'aborted', error })
  stream.end()
}

function streamOf(play, count) {
  return (_model, _context, { signal }) => {
    const turn = count.modelCalls++
    play.onModel?.(turn)
    const stream = createAssistantMessageEventStream()
    if (play.deaf !== undefined && turn > 0 && signal?.aborted) {
      fail(stream)
      return stream
    }
    const wait = play.deaf?.what === 'model' && turn === 0 ? play.deaf.ms : play.hangs === turn ? forever : play.modelMs
    if (wait === undefined) reply(stream, turn, play.turns)
    else void delay(wait).then(() => reply(stream, turn, play.turns))
    return stream
  }
}

function toolOf(play, count) {
  return {
    name: toolName,
    label: toolName,
    description: toolDescription,
    parameters: inputSchema,
    async execute(_id, { path }, signal) {
      const isFirst = count.toolCalls++ === 0
      play.onTool?.()
      if (play.deaf?.what === 'tool' && isFirst) await delay(play.deaf.ms)
      else if (play.deaf !== undefined) signal?.throwIfAborted()
      else if (play.toolMs !== undefined) await delay(play.toolMs)
      return { content: [{ type: 'text', text: resultOf(path) }], details: {} }
    },
  }
}

/** From the README of pi's agent package, word for word. */
const documented = (messages) => messages.filter((m) => ['user', 'assistant', 'toolResult'].includes(m.role))
/** The cheapest that the type allows: what pi costs without the filter over all messages. */
const identity = (messages) => messages

/** @param {(messages: any[]) => any[]} convertToLlm @returns {(play: Play) => Promise<Played>} */
function played(convertToLlm) {
  return async (play) => {
    const count = { modelCalls: 0, toolCalls: 0 }
    let ending = 'none'
    const prompt = { role: 'user', content: 'Go.', timestamp: Date.now() }
    const context = { systemPrompt: '', messages: [], tools: [toolOf(play, count)] }
    const stream = agentLoop([prompt], context, { model, convertToLlm }, play.signal, streamOf(play, count))
    for await (const event of stream) if (event.type === 'turn_end') ending = event.message.stopReason
    return { ...count, ending }
  }
}

export const peers = { pi: played(documented), 'pi, no filter': played(identity) }
