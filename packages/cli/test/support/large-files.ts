import { writeFileSync } from 'node:fs'
import { openJournal } from '@halting/journal'
import { largeSession } from '../../../analysis/test/support/sessions.ts'

/** A session of halting with about this many records. */
export async function largeJournal(path: string, sessionId: string, records: number): Promise<void> {
  const journal = await openJournal({ path, sessionId, cwd: '/work', version: '0' })
  for (const record of largeSession(records).runs.flat()) journal.log?.append(record)
  await journal.close()
}

/** A session with this many lines, half of them replies with a call each, and the last one an answer. `line` creates one line of a program. */
export function largeFile(path: string, lines: number, line: (at: number, isLast: boolean) => readonly object[]): void {
  const all: string[] = []
  for (let at = 0; all.length < lines; at++)
    for (const each of line(at, all.length + 2 >= lines)) all.push(`${JSON.stringify(each)}\n`)
  writeFileSync(path, all.join(''))
}

const momentOf = (at: number): string => new Date(Date.UTC(2026, 0, 1) + at * 1_000).toISOString()

/** A turn of Claude Code. */
export function lineOfClaudeCode(at: number, isLast: boolean): readonly object[] {
  const place = (name: string): object => ({
    sessionId: 'c0000000-0000-4000-8000-000000000000',
    cwd: '/work',
    isSidechain: false,
    timestamp: momentOf(at),
    ...(name === 'u'
      ? { uuid: `u${at}`, parentUuid: at === 0 ? null : `a${at - 1}` }
      : { uuid: `a${at}`, parentUuid: `u${at}` }),
  })
  const content = isLast
    ? [{ type: 'text', text: 'All is done.' }]
    : [{ type: 'tool_use', id: `t${at}`, name: 'Read', input: { file_path: `file-${at}.ts` } }]
  const result = [{ type: 'tool_result', tool_use_id: `t${at - 1}`, content: `seen ${at}` }]
  const message = {
    id: `m${at}`,
    role: 'assistant',
    model: 'claude-sonnet-4-5',
    content,
    stop_reason: isLast ? 'end_turn' : 'tool_use',
  }
  return [
    { type: 'user', ...place('u'), message: { role: 'user', content: at === 0 ? 'Read all of it.' : result } },
    { type: 'assistant', ...place('a'), message: { ...message, usage: { input_tokens: 100, output_tokens: 10 } } },
  ]
}

/** A call of Codex with its result. */
export function linesOfCodex(at: number, isLast: boolean): readonly object[] {
  const line = (type: string, payload: object): object => ({ timestamp: momentOf(at), type, payload })
  const used = {
    input_tokens: 100,
    cached_input_tokens: 0,
    output_tokens: 10,
    reasoning_output_tokens: 0,
    total_tokens: 110,
  }
  const said = (role: string, type: string, text: string): object =>
    line('response_item', { type: 'message', role, content: [{ type, text }] })
  if (at === 0)
    return [
      line('session_meta', { id: 'd0000000-0000-4000-8000-000000000000', cwd: '/work', timestamp: momentOf(0) }),
      line('event_msg', { type: 'task_started', turn_id: 't' }),
      line('turn_context', { cwd: '/work', model: 'gpt-5-codex' }),
      said('user', 'input_text', 'Read all of it.'),
      line('event_msg', { type: 'user_message', message: 'Read all of it.' }),
    ]
  if (isLast)
    return [
      said('assistant', 'output_text', 'All is done.'),
      line('event_msg', { type: 'token_count', info: { last_token_usage: used } }),
      line('event_msg', { type: 'task_complete', turn_id: 't', last_agent_message: 'All is done.' }),
    ]
  const call = { call_id: `c${at}`, name: 'shell', arguments: JSON.stringify({ command: ['cat', `file-${at}`] }) }
  return [
    line('response_item', { type: 'function_call', ...call }),
    line('event_msg', { type: 'token_count', info: { last_token_usage: used } }),
    line('response_item', { type: 'function_call_output', call_id: `c${at}`, output: `seen ${at}` }),
  ]
}
