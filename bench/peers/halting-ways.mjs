import { delay, deltas, forever, inputOf, inputSchema, inputTokens, lastWords, outputTokens, replyText, resultOf, toolDescription, toolName } from '../lib/script.mjs'

/** @import { Play, Played } from '../lib/script.mjs' */

const usage = { input_tokens: inputTokens, output_tokens: outputTokens, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 }

/** @param {Play} play @param {{ modelCalls: number }} count */
function modelOf(play, count) {
  return {
    id: 'bench',
    contextWindow: 1_000_000_000,
    maxOutputTokens: 64_000,
    async call(_request, { emit, signal }) {
      const turn = count.modelCalls++
      play.onModel?.(turn)
      if (play.deaf?.what === 'model' && turn === 0) await delay(play.deaf.ms)
      else if (play.hangs === turn) await delay(forever)
      else if (play.modelMs !== undefined) await delay(play.modelMs)
      if (play.deaf !== undefined && turn > 0) signal.throwIfAborted()
      const id = `msg_${turn}`
      if (turn >= play.turns) {
        const block = { type: 'text', text: lastWords }
        emit({ type: 'text_delta', index: 0, text: lastWords })
        emit({ type: 'block', index: 0, block, messageId: id })
        return { message: { role: 'assistant', id, model: 'bench', content: [block], stop_reason: 'end_turn', usage } }
      }
      const text = { type: 'text', text: replyText }
      const call = { type: 'tool_use', id: `call_${turn}`, name: toolName, input: inputOf(turn) }
      for (const delta of deltas) emit({ type: 'text_delta', index: 0, text: delta })
      emit({ type: 'block', index: 0, block: text, messageId: id })
      emit({ type: 'block', index: 1, block: call, messageId: id })
      return { message: { role: 'assistant', id, model: 'bench', content: [text, call], stop_reason: 'tool_use', usage } }
    },
  }
}

/** @param {Play} play @param {{ toolCalls: number }} count */
function toolOf(play, count) {
  return {
    name: toolName,
    description: toolDescription,
    inputSchema,
    readOnly: true,
    async execute({ path }, { signal }) {
      const isFirst = count.toolCalls++ === 0
      play.onTool?.()
      if (play.deaf?.what === 'tool' && isFirst) await delay(play.deaf.ms)
      else if (play.deaf !== undefined) signal.throwIfAborted()
      else if (play.toolMs !== undefined) await delay(play.toolMs)
      return resultOf(path)
    },
  }
}

/** @param {typeof import('@halting/core')} core @param {Play} play @param {{ modelCalls: number, toolCalls: number }} count */
function start({ streamRun, startRun }, play, count) {
  const signal = play.signal === undefined ? {} : { signal: play.signal }
  const grace = play.deaf === undefined ? {} : { graceMs: 0 }
  return streamRun(startRun({ prompt: 'Go.' }), { model: modelOf(play, count), tools: [toolOf(play, count)], maxTurns: play.turns + 1, ...signal, ...grace })
}

/** The ways to read a run, with the core of one build. @param {typeof import('@halting/core')} core */
export function peersOf(core) {
  /** Every event is read. @param {Play} play @returns {Promise<Played>} */
  async function iterated(play) {
    const count = { modelCalls: 0, toolCalls: 0 }
    let ending = 'none'
    for await (const event of start(core, play, count)) if (event.type === 'run_end') ending = event.terminal.reason
    return { ...count, ending }
  }

  /** Nobody reads events. @param {Play} play @returns {Promise<Played>} */
  async function awaited(play) {
    const count = { modelCalls: 0, toolCalls: 0 }
    const { reason } = await start(core, play, count).result
    return { ...count, ending: reason }
  }

  return [iterated, awaited]
}
