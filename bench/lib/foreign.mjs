// Sessions as Claude Code and Codex write them, for the benchmarks: one call per turn with a result of 1 KB, and the further fields of their lines.
import { writeFileSync } from 'node:fs'
import { inputOf, replyText, resultOf } from './script.mjs'

const cwd = '/home/someone/project'
const momentOf = (number) => new Date(Date.UTC(2026, 0, 1) + number * 1_000).toISOString()
const written = (lines) => lines.map((line) => `${JSON.stringify(line)}\n`).join('')

/** `id`: of the session. No two sessions have the same lines. */
export function writeClaudeCode(path, { turns, id }) {
  const lines = []
  const add = (fields) => {
    const number = lines.length
    const parentUuid = number === 0 ? null : `${id}-${number - 1}`
    const place = { isSidechain: false, userType: 'external', cwd, sessionId: id, version: '2.1.0', gitBranch: 'main' }
    lines.push({ parentUuid, ...place, ...fields, uuid: `${id}-${number}`, timestamp: momentOf(number) })
  }
  add({ type: 'user', message: { role: 'user', content: 'Go.' } })
  const usage = {
    input_tokens: 100,
    output_tokens: 10,
    cache_creation_input_tokens: 50,
    cache_read_input_tokens: 4_000,
    service_tier: 'standard',
  }
  const reply = (number, content, stop) => {
    const message = { id: `msg_${id}_${number}`, type: 'message', role: 'assistant', model: 'claude-sonnet-4-5', content }
    add({ type: 'assistant', message: { ...message, stop_reason: stop, stop_sequence: null, usage }, requestId: `req_${number}` })
  }
  for (let turn = 0; turn < turns; turn++) {
    const call = { type: 'tool_use', id: `toolu_${id}_${turn}`, name: 'Read', input: inputOf(turn) }
    reply(turn, [{ type: 'text', text: replyText }, call], 'tool_use')
    const content = resultOf(inputOf(turn).path)
    const result = { type: 'tool_result', tool_use_id: call.id, content }
    const toolUseResult = { type: 'text', file: { filePath: inputOf(turn).path, content, numLines: 16, startLine: 1, totalLines: 16 } }
    add({ type: 'user', message: { role: 'user', content: [result] }, toolUseResult })
  }
  reply(turns, [{ type: 'text', text: 'Done.' }], 'end_turn')
  writeFileSync(path, written(lines))
}

export function writeCodex(path, { turns, id }) {
  const lines = []
  const add = (type, payload) => lines.push({ timestamp: momentOf(lines.length), ordinal: lines.length, type, payload })
  add('session_meta', { id, timestamp: momentOf(0), cwd, originator: 'codex_exec', cli_version: '0.169.0', source: 'exec' })
  add('event_msg', { type: 'task_started', turn_id: `${id}-turn`, model_context_window: 258_400 })
  add('turn_context', { turn_id: `${id}-turn`, cwd, approval_policy: 'never', model: 'gpt-5', effort: 'medium' })
  const message = (role, type, text) => add('response_item', { type: 'message', role, content: [{ type, text }] })
  message('user', 'input_text', 'Go.')
  const count = (number) => {
    const each = (times) => ({
      input_tokens: 4_000 * times,
      cached_input_tokens: 3_900 * times,
      output_tokens: 10 * times,
      reasoning_output_tokens: 0,
      total_tokens: 4_010 * times,
    })
    add('event_msg', { type: 'token_count', info: { total_token_usage: each(number), last_token_usage: each(1), model_context_window: 258_400 } })
  }
  for (let turn = 0; turn < turns; turn++) {
    message('assistant', 'output_text', replyText)
    const call = { name: 'read_file', arguments: JSON.stringify(inputOf(turn)), call_id: `call_${id}_${turn}` }
    add('response_item', { type: 'function_call', ...call })
    count(turn + 1)
    add('response_item', { type: 'function_call_output', call_id: call.call_id, output: resultOf(inputOf(turn).path) })
  }
  message('assistant', 'output_text', 'Done.')
  count(turns + 1)
  add('event_msg', { type: 'task_complete', turn_id: `${id}-turn`, last_agent_message: 'Done.' })
  writeFileSync(path, written(lines))
}
