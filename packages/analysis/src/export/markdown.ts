import { inputSummary } from '@halting/core/adapters'
import { goalFacts } from '../words/goal-words.ts'
import { verificationFacts } from '../words/verification-words.ts'
import { elapsed } from '../words/figures.ts'
import { jsonText } from '../words/json-text.ts'
import { visible } from '../words/visible.ts'
import { endingText, sessionTotals } from './session-totals.ts'
import { changeLines } from '../view/change-lines.ts'
import { plainText, type Part, type TranscriptCall, type SessionTranscript } from '../view/session-transcript.ts'

// Text of people, models and tools appears only in fences and code spans, so that no Markdown reader interprets it.

/** The session as Markdown, in pieces. */
export function* markdownOf(session: SessionTranscript, title: string): Iterable<string> {
  yield `# ${codeSpan(title)}\n\n`
  for (const [name, value] of sessionTotals(session)) yield `- ${name}: ${codeSpan(value)}\n`
  const last = session.runs.at(-1)
  if (last !== undefined) yield `- Ended: ${codeSpan(endingText(last.account.ending))}\n`
  for (const { account, parts, grade } of session.runs) {
    yield `\n## Run ${codeSpan(account.run.runId)}\n`
    for (const part of parts) yield* partText(part, 3)
    if (account.goal !== undefined)
      yield `\n${goalFacts(account.goal)
        .map((fact) => `- Goal: ${codeSpan(fact)}\n`)
        .join('')}`
    if (account.verification !== undefined && account.verification.verified !== 'nothing changed')
      yield `\n${verificationFacts(account.verification)
        .map((fact) => `- Last change: ${codeSpan(fact)}\n`)
        .join('')}`
    if (grade !== undefined) yield `\nGraded by a person: ${codeSpan(grade)}\n`
    yield `\nEnded: ${codeSpan(endingText(account.ending))}\n`
  }
}

function* partText(part: Part, level: number): Iterable<string> {
  const heading = (text: string): string => `\n${'#'.repeat(Math.min(6, level))} ${text}\n\n`
  switch (part.kind) {
    case 'person':
      yield heading(part.by) + fenced(plainText(part.content))
      return
    case 'answer':
      yield heading('Answer') + fenced(part.text, 'markdown')
      return
    case 'thinking':
      yield heading('Thinking') + fenced(part.text)
      return
    case 'note':
      yield `${heading('Note')}${codeSpan(part.text)}\n`
      if (part.more !== undefined && part.more !== '') yield `\n${fenced(part.more)}`
      return
    case 'check':
      yield `${heading('Check')}${codeSpan(part.text)}\n`
      if (part.more !== '') yield `\n${fenced(part.more)}`
      return
    case 'call':
      yield* callText(part, level, heading)
  }
}

function* callText(call: TranscriptCall, level: number, heading: (text: string) => string): Iterable<string> {
  const took = call.durationMs === undefined ? '' : `, ${elapsed(call.durationMs)}`
  const how = call.result === undefined ? ', no result on record' : call.isError ? ', failed' : ''
  yield heading(`${codeSpan(`${call.name} ${inputSummary(call.input).slice(0, 200)}`)}${how}${took}`)
  const changes = changeLines(call)
  yield changes.length > 0 ? fenced(changes.join('\n'), 'diff') : fenced(jsonText(call.input), 'json')
  for (const part of call.agent) yield* partText(part, level + 1)
  if (call.result !== undefined) yield `\nResult:\n\n${fenced(plainText(call.result))}`
}

/** A fence that is longer than any fence in the text. */
function fenced(text: string, language = 'text'): string {
  const visibleText = visible(text)
  const fence = '`'.repeat(Math.max(3, longestRun(visibleText) + 1))
  return `${fence}${language}\n${visibleText}${visibleText.endsWith('\n') ? '' : '\n'}${fence}\n`
}

/** The text as a code span on one line. */
function codeSpan(text: string): string {
  const visibleText = visible(text).replaceAll(/\s+/g, ' ').trim()
  const ticks = '`'.repeat(longestRun(visibleText) + 1)
  return visibleText === '' ? '' : `${ticks} ${visibleText} ${ticks}`
}

function longestRun(text: string): number {
  return (text.match(/`+/g) ?? []).reduce((longest, { length }) => Math.max(longest, length), 0)
}
