import { isText, isToolResult, textOf } from '../../messages.ts'
import type { Ended } from '../../run-context.ts'
import { lastAnswer } from '../../sdk/result-message.ts'
import type { RunState } from '../../state.ts'
import { tailOf } from '../../text.ts'
import { abortedResult, type ToolResult } from '../../tools/tool-result.ts'

/** The result for the parent's model: the child's answer, or why the child was stopped before its end (spec R-SUB-6). */
export function resultOfChild(ended: Ended, note = ''): ToolResult {
  const { terminal, state } = ended
  if (terminal.signal.source === 'abort') {
    // Why the parent was aborted is on its own record: its next checkpoint tells.
    const { abort: _cause, ...result } = abortedResult('parent', 'settled')
    return result
  }
  const details = {
    reason: terminal.reason,
    message: terminal.signal.message,
    costUsd: terminal.costUsd,
    turns: terminal.summary.turns,
  }
  const noted = (text: string): string => (note === '' ? text : `${note}\n\n${text}`)
  if (terminal.reason === 'completed' || terminal.reason === 'finish_reason' || terminal.reason === 'stop_requested') {
    const answer = lastAnswer(state)
    const content = noted(answer === '' ? '(The agent ended without a text.)' : answer)
    return { status: 'done', content, isError: false, details }
  }
  const why = `The agent was stopped before it was done (${terminal.signal.toString()}).`
  const found = foundSoFar(state)
  return {
    status: 'failed',
    content: noted(found === '' ? why : `${why} ${found}`),
    isError: true,
    details,
    error: why,
  }
}

/** What a parent is shown of an agent that was stopped: of its texts the newest, or of the last result that it saw the end. */
const mostOfTexts = 8_000
const mostOfResult = 2_000

function foundSoFar({ transcript, startLength }: RunState): string {
  const entries = transcript.since(startLength)
  const said = entries.flatMap((entry) =>
    entry.kind === 'assistant' && entry.error === undefined ? textOf(entry.message.content).trim() || [] : [],
  )
  const texts = said.join('\n\n')
  if (texts !== '') return `Its last words were:\n\n${cut(texts, mostOfTexts)}`
  const seen = entries
    .flatMap((entry) =>
      entry.kind === 'user' && typeof entry.message.content !== 'string' ? entry.message.content : [],
    )
    .findLast(isToolResult)
  const shown =
    typeof seen?.content === 'string'
      ? seen.content
      : (seen?.content ?? [])
          .filter(isText)
          .map(({ text }) => text)
          .join('\n')
  return shown === '' ? '' : `It had said nothing yet. The last result that it saw:\n\n${cut(shown, mostOfResult)}`
}

function cut(text: string, limit: number): string {
  return text.length <= limit ? text : `(the end of ${text.length} characters)\n${tailOf(text, limit)}`
}
