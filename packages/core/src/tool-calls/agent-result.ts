import type { TaskEnded } from '../verification/background.ts'
import { jsonOf, type Json } from '../values/json.ts'
import { isText, isToolResult, textOf } from '../model/messages.ts'
import type { OutputSchema } from '../tools/output-schema.ts'
import type { FinishedRun } from '../run/run-context.ts'
import { lastAnswer, lastReplyText } from '../sdk/result-message.ts'
import { tasksIn } from '../run/tasks.ts'
import { endings } from '../endings/table.ts'
import type { RunResult } from '../endings/terminal.ts'
import type { RunState } from '../state/state.ts'
import type { ChildRun } from '../tools/tool.ts'
import { abortedResult, type ToolResult } from '../tools/tool-result.ts'
import type { Child } from './child-run.ts'
import { agentEnd, agentStoppedEarly, lastResultOfAgent, lastTextOfAgent, noAnswerOfAgent } from './call-texts.ts'

// Spec R-SUB-6, R-BACK-6.
/**
 * The result for the parent: the child's answer, or why the child was stopped before its end, with what its tools started and saw
 * end. The child's transcript is on no record that a later run looks at.
 */
export function resultOfChild(ended: FinishedRun, { run: child, context }: Child): ToolResult {
  const { transcript, startLength } = ended.state
  const tasks = tasksIn(transcript.since(startLength))
  const result = toldOfChild(ended, child, context.settings.output)
  return tasks.length === 0 ? result : { ...result, tasks }
}

function toldOfChild(ended: FinishedRun, child: ChildRun, output: OutputSchema | null): ToolResult {
  const { terminal, state } = ended
  const { note = '' } = child
  if (isCutByParent(ended, child)) {
    // Why the parent was aborted is on its own record: its next checkpoint tells.
    const { abort: _cause, ...result } = abortedResult('parent', 'settled')
    const why = whyStopped(terminal)
    const words = wordsOf(state)
    if (words !== '') return { ...result, content: `${why} ${lastTextOfAgent(words, mostOfTexts)}` }
    return terminal.signal.reason === 'user_requested' ? result : { ...result, content: why }
  }
  const details = {
    reason: terminal.reason,
    message: terminal.signal.message,
    costUsd: terminal.costUsd,
    turns: terminal.summary.turns,
  }
  const noted = (text: string): string => (note === '' ? text : `${note}\n\n${text}`)
  if (endings[terminal.reason].parentResult === 'done') {
    const structured = output === null ? undefined : structuredAnswer(state, output)
    if (structured !== undefined) {
      const content = noted(JSON.stringify(structured.value))
      return { status: 'done', content, isError: false, details: { ...details, output: structured.value } }
    }
    const answer = lastAnswer(state)
    const content = noted(answer === '' ? noAnswerOfAgent : answer)
    return { status: 'done', content, isError: false, details }
  }
  const why = whyStopped(terminal)
  const found = foundSoFar(state)
  return {
    status: 'failed',
    content: noted(found === '' ? why : `${why} ${found}`),
    isError: true,
    details,
    error: why,
  }
}

/** What the schema makes of the answer. The loop has checked it before: a check that says something else now leaves the answer as it is. */
function structuredAnswer(state: RunState, output: OutputSchema): { readonly value: Json } | undefined {
  try {
    const checked = output.check(lastReplyText(state))
    return checked.fits ? { value: jsonOf(checked.value) } : undefined
  } catch {
    return undefined
  }
}

/** The same for one that works in the background, in words of its own. */
export function endOfAgent(ended: FinishedRun, child: Child, description: string): Omit<TaskEnded, 'type' | 'id'> {
  const { state } = ended
  if (isCutByParent(ended, child.run)) {
    const result = foundSoFar(state)
    return { status: 'stopped', summary: agentEnd(description, 'stopped'), ...(result !== '' && { result }) }
  }
  const { status, content } = resultOfChild(ended, { ...child, run: { ...child.run, note: '' } })
  const result = typeof content === 'string' ? content : textOf(content)
  return status === 'done'
    ? { status: 'completed', summary: agentEnd(description, 'ended'), result }
    : { status: 'failed', summary: agentEnd(description, 'failed'), result }
}

/** A timer of the platform may be that early. */
const timerSlackMs = 5

/** By what is on record: its parent was aborted, or stopped it, before its own time was up. */
function isCutByParent({ terminal }: FinishedRun, { maxDurationMs = Infinity }: ChildRun): boolean {
  if (terminal.signal.source !== 'abort') return false
  return terminal.reason !== 'time_limit' || terminal.durationMs + timerSlackMs < maxDurationMs
}

/** What a parent is shown of an agent that was stopped: of its texts the newest, or of the last result that it saw the end. */
const mostOfTexts = 8_000
const mostOfResult = 2_000

function whyStopped({ signal }: RunResult): string {
  return agentStoppedEarly(signal.toString())
}

/** All its texts. */
function wordsOf({ transcript, startLength }: RunState): string {
  const said = transcript
    .since(startLength)
    .flatMap((entry) =>
      entry.kind === 'assistant' && entry.error === undefined ? textOf(entry.message.content).trim() || [] : [],
    )
  return said.join('\n\n')
}

function foundSoFar(state: RunState): string {
  const texts = wordsOf(state)
  if (texts !== '') return lastTextOfAgent(texts, mostOfTexts)
  const seen = state.transcript
    .since(state.startLength)
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
  return shown === '' ? '' : lastResultOfAgent(shown, mostOfResult)
}
