import { generateText, isStepCount, jsonSchema, streamText, tool } from 'ai'
import { delay, deltas, inputOf, inputSchema, inputTokens, lastWords, outputTokens, replyText, resultOf, toolDescription, toolName } from '../lib/script.mjs'

/** @import { Play, Played } from '../lib/script.mjs' */
/** @import { LanguageModelV4 } from '@ai-sdk/provider' */

const usage = {
  inputTokens: { total: inputTokens, noCache: inputTokens, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: outputTokens, text: outputTokens, reasoning: 0 },
}
const stop = { unified: 'stop', raw: 'end_turn' }
const callTools = { unified: 'tool-calls', raw: 'tool_use' }

/** @param {number} turn */
const callOf = (turn) => ({ type: 'tool-call', toolCallId: `call_${turn}`, toolName, input: JSON.stringify(inputOf(turn)) })

/** @param {Play} play @param {{ modelCalls: number }} count @returns {LanguageModelV4} */
function modelOf(play, count) {
  const asked = async (abortSignal) => {
    const turn = count.modelCalls++
    play.onModel?.(turn)
    if (play.deaf?.what === 'model' && turn === 0) await delay(play.deaf.ms)
    else if (play.modelMs !== undefined) await delay(play.modelMs)
    if (play.deaf !== undefined && turn > 0) abortSignal?.throwIfAborted()
    return turn
  }
  return {
    specificationVersion: 'v4',
    provider: 'bench',
    modelId: 'bench',
    supportedUrls: {},
    async doGenerate({ abortSignal }) {
      const turn = await asked(abortSignal)
      if (turn >= play.turns) return { content: [{ type: 'text', text: lastWords }], finishReason: stop, usage, warnings: [] }
      return { content: [{ type: 'text', text: replyText }, callOf(turn)], finishReason: callTools, usage, warnings: [] }
    },
    async doStream({ abortSignal }) {
      const turn = await asked(abortSignal)
      const last = turn >= play.turns
      const parts = [
        { type: 'stream-start', warnings: [] },
        { type: 'text-start', id: '0' },
        ...(last ? [lastWords] : deltas).map((delta) => ({ type: 'text-delta', id: '0', delta })),
        { type: 'text-end', id: '0' },
        ...(last ? [] : [callOf(turn)]),
        { type: 'finish', finishReason: last ? stop : callTools, usage },
      ]
      const stream = new ReadableStream({
        start(controller) {
          for (const part of parts) controller.enqueue(part)
          controller.close()
        },
      })
      return { stream }
    },
  }
}

/** @param {Play} play @param {{ modelCalls: number, toolCalls: number }} count */
function optionsOf(play, count) {
  const look = tool({
    description: toolDescription,
    inputSchema: jsonSchema(inputSchema),
    async execute({ path }, { abortSignal }) {
      const isFirst = count.toolCalls++ === 0
      play.onTool?.()
      if (play.deaf?.what === 'tool' && isFirst) await delay(play.deaf.ms)
      else if (play.deaf !== undefined) abortSignal?.throwIfAborted()
      else if (play.toolMs !== undefined) await delay(play.toolMs)
      return resultOf(path)
    },
  })
  const signal = play.signal === undefined ? {} : { abortSignal: play.signal }
  return { model: modelOf(play, count), prompt: 'Go.', tools: { [toolName]: look }, stopWhen: isStepCount(play.turns + 1), maxRetries: 0, ...signal }
}

/** @param {Play} play @returns {Promise<Played>} */
async function generated(play) {
  const count = { modelCalls: 0, toolCalls: 0 }
  try {
    const { finishReason } = await generateText(optionsOf(play, count))
    return { ...count, ending: finishReason }
  } catch (error) {
    return { ...count, ending: `threw ${error.name}` }
  }
}

/** @param {Play} play @returns {Promise<Played>} */
async function streamed(play) {
  const count = { modelCalls: 0, toolCalls: 0 }
  let ending = 'none'
  const { stream } = streamText({ ...optionsOf(play, count), onError: () => {} })
  for await (const part of stream) {
    if (part.type === 'finish') ending = part.finishReason
    if (part.type === 'abort' || part.type === 'error') ending = part.type
  }
  return { ...count, ending }
}

export const peers = { 'ai generateText': generated, 'ai streamText': streamed }
