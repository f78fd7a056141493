import type { ContentBlock, RunEvent, SdkMessage } from '@halting/core'
import { blocksOf, type SdkAssistant, type SdkUser, isJsonObject } from '@halting/core/adapters'
import { toolWaitIn, toolWaitText } from '../frontends/wait-text.ts'
import { columnsOf, wrapToColumns } from '../io/columns.ts'
import { elapsed, oneLine, printable, many } from '../io/figures.ts'
import type { Style } from '../io/style.ts'
import { pauseNote } from './pause-note.ts'
import { contextChangeOf } from './context-changes.ts'
import { TextSteps, type PrintedTexts } from './text-steps.ts'
import { inputSummary } from '@halting/analysis/words'
import { patchToolName } from '../frontends/patch-files.ts'

export interface StepPrinter {
  onEvent(event: RunEvent): void
  see(message: SdkMessage): void
}

interface Call {
  readonly name: string
  readonly about: string
}

/** Maximum length of a tool name, because a model may invent a name of any length. */
const maxNameLength = 64

/**
 * Prints each step of a run in a few lines: texts of the model, calls with their input, results.
 * P1: a result follows the line of its call, or names it.
 */
export function createStepPrinter(
  print: (text: string) => void,
  style: Style,
  width: () => number,
  texts: PrintedTexts,
): StepPrinter {
  return new TextStepPrinter(print, style, width, texts)
}

class TextStepPrinter implements StepPrinter {
  readonly #print: (text: string) => void
  readonly #style: Style
  readonly #width: () => number
  // By the id of the parent call and its own id, because agents may reuse ids.
  readonly #calls = new Map<string, Call>()
  readonly #durations = new Map<string, number>()
  /** The call whose line was printed last. */
  #above: string | undefined
  readonly #texts: TextSteps

  constructor(print: (text: string) => void, style: Style, width: () => number, texts: PrintedTexts) {
    this.#print = print
    this.#style = style
    this.#width = width
    this.#texts = new TextSteps((text) => this.#line(text), texts)
  }

  onEvent(event: RunEvent): void {
    return this.#onEvent(event, null)
  }

  see(message: SdkMessage): void {
    if (message.type === 'assistant') this.#printAssistant(message)
    if (message.type === 'user') this.#printUser(message)
    if (message.type === 'system' && message.subtype === 'informational')
      this.#line(this.#style.yellow(`! ${oneLine(message.message, this.#width() - 2)}`))
    if (message.type === 'result') this.#texts.end()
  }

  #line(text: string): void {
    this.#above = undefined
    this.#print(`${text}\n`)
  }

  #printAssistant({ message, error, parent_tool_use_id: parent }: SdkAssistant): void {
    for (const block of message.content) {
      if (block.type === 'text' && block.text.trim() !== '') {
        const text = printable(block.text).trim()
        // The text of a subagent is never the answer, and was not streamed, so it is printed.
        if (error === undefined && parent === null) this.#texts.onText(text)
        else this.#line(error === undefined ? text : this.#style.red(text))
      }
      if (block.type !== 'tool_use') continue
      if (parent === null) this.#texts.onToolCall()
      else this.#texts.release()
      const [key, call] = [keyOf(parent, block.id), callOf(block, this.#width())]
      this.#calls.set(key, call)
      this.#line(`${this.#style.green('●')} ${this.#style.bold(call.name)} ${call.about}`)
      this.#above = key
    }
  }

  #printResult(
    { content, is_error: isError }: Extract<ContentBlock, { type: 'tool_result' }>,
    key: string,
    details: unknown,
  ): void {
    const { name, about } = this.#calls.get(key) ?? { name: '', about: '' }
    const subject = this.#above === key || name === '' ? '' : `${name} ${about}`
    const shown = resultText(
      subject,
      resultSummary(name, content, details),
      this.#durations.get(key),
      this.#width() - 4,
    )
    this.#line(isError === true ? this.#style.red(`  ✗ ${shown}`) : this.#style.dim(`  ✓ ${shown}`))
    if (isError !== true || name !== 'Bash') return
    for (const outputLine of lastLinesOfFailed(details))
      this.#line(this.#style.dim(`    ${oneLine(outputLine, this.#width() - 4)}`))
  }

  #printUser({ message: { content }, tool_use_result: details, parent_tool_use_id: parent }: SdkUser): void {
    this.#texts.release()
    for (const block of blocksOf(content)) {
      if (block.type === 'text') this.#line(this.#style.dim(`  ${oneLine(block.text, this.#width() - 2)}`))
      if (block.type === 'tool_result') this.#printResult(block, keyOf(parent, block.tool_use_id), details)
    }
  }

  /** Reports a long wait when it starts. */
  #printWait(callId: string, name: string, data: unknown, parent: string | null): void {
    const wait = toolWaitIn(data)
    if (wait === undefined) return
    if (this.#above !== keyOf(parent, callId)) this.#above = undefined
    const text = toolWaitText(wait, Date.now())
    const fullText = this.#above === undefined ? `${name} ${text}` : text
    this.#print(`${this.#style.dim(`  … ${oneLine(fullText, this.#width() - 4)}`)}\n`)
  }

  #onEvent(event: RunEvent, parent: string | null): void {
    if (event.type === 'agent') this.#onEvent(event.event, event.callId)
    for (const text of [
      ...newsLines(event, this.#width(), this.#style),
      ...waitLines(event, this.#width(), this.#style),
    ])
      this.#line(text)
    // The answer is sent back, so it becomes a step, which is printed before later output.
    if (event.type === 'goal_end' && parent === null && !event.met && event.tries < event.maxTries)
      this.#texts.release()
    if (parent === null) this.#texts.onEvent(event)
    if (event.type === 'tool_update') this.#printWait(event.callId, event.name, event.data, parent)
    if (event.type === 'tool_end') this.#durations.set(keyOf(parent, event.callId), event.durationMs)
  }
}

/** The name and subject of a call, on one line. */
function callOf({ name: fullName, input }: Extract<ContentBlock, { type: 'tool_use' }>, columns: number): Call {
  const name = oneLine(fullName, maxNameLength)
  return { name, about: oneLine(inputSummary(input), columns - columnsOf(name) - 3) }
}

/** `subject`: the call; '' if the line of the call is directly above. */
function resultText(subject: string, summary: string, took: number | undefined, width: number): string {
  const time = took === undefined ? '' : ` · ${elapsed(took)}`
  const room = width - columnsOf(time)
  // The result gets enough room, because it is more important than the whole subject.
  const subjectRoom = Math.max(Math.floor(room / 3), room - 2 - columnsOf(summary))
  return oneLine((subject === '' ? '' : `${oneLine(subject, subjectRoom)}: `) + summary, room) + time
}

function newsLines(event: RunEvent, width: number, style: Style): readonly string[] {
  const news = contextChangeOf(event)
  if (news === undefined) return []
  return [(news.kind === 'not compacted' ? style.yellow : style.dim)(oneLine(`↻ ${news.text}`, width))]
}

/** Lines about a retried request, and about finished waits for a service. */
function waitLines(event: RunEvent, width: number, style: Style): readonly string[] {
  if (event.type === 'service_waited') return [style.dim(`  waited ${elapsed(event.waitedMs)} for the service`)]
  const pause = pauseNote(event, Date.now())
  const text = pause === undefined && event.type === 'retry' ? retryText(event, width) : pause && `! ${pause}`
  return text === undefined ? [] : [style.yellow(wrapToColumns(text, width))]
}

function retryText(
  { attempt, maxRetries, delayMs, error }: Extract<RunEvent, { readonly type: 'retry' }>,
  width: number,
): string {
  const when = delayMs > 0 ? `in ${elapsed(delayMs)}` : 'now'
  return `! ${oneLine(error.message, 3 * width)} (retry ${attempt} of ${maxRetries} ${when})`
}

/** `parent`: the call that started the agent; null for the main loop. */
function keyOf(parent: string | null, callId: string): string {
  return `${parent ?? ''} ${callId}`
}

/** A summary of a result. */
function resultSummary(tool: string, content: string | readonly ContentBlock[], details: unknown): string {
  const fields = isJsonObject(details) ? details : {}
  if (tool === 'Read' && typeof fields.numLines === 'number') return many(fields.numLines, 'line')
  if (tool === 'Edit' && Array.isArray(fields.structuredPatch)) return changeSummary(fields.structuredPatch)
  if (tool === patchToolName && Array.isArray(fields.files))
    return `${many(fields.files.length, 'file')}: ${changeSummary(fields.files.flatMap(patchOf))}`
  if (tool === 'Bash' && typeof fields.exitCode === 'number' && fields.exitCode !== 0)
    return `exit code ${fields.exitCode}`
  const lines = textOf(content)
    .split('\n')
    .filter((line) => line.trim() !== '')
  // For a command, the last line usually shows the outcome.
  const shown = (tool === 'Bash' ? lines.at(-1) : lines[0]) ?? ''
  return lines.length > 1 ? `${shown} (${many(lines.length, 'line')})` : shown
}

const maxOutputLines = 5

/** The last lines of a failed command, which usually show why. */
function lastLinesOfFailed(details: unknown): readonly string[] {
  if (!isJsonObject(details) || typeof details.stdout !== 'string') return []
  return details.stdout
    .split('\n')
    .filter((line) => line.trim() !== '')
    .slice(-maxOutputLines)
}

function textOf(content: string | readonly ContentBlock[]): string {
  if (typeof content === 'string') return content
  return content.map((block) => (block.type === 'text' ? block.text : `[${block.type}]`)).join('\n')
}

/** The hunks of one file of a patch; none for a new file. */
function patchOf(file: unknown): readonly unknown[] {
  return isJsonObject(file) && Array.isArray(file.structuredPatch) ? file.structuredPatch : []
}

function changeSummary(hunks: readonly unknown[]): string {
  const lines = hunks.flatMap((hunk) => (isJsonObject(hunk) && Array.isArray(hunk.lines) ? hunk.lines.map(String) : []))
  const count = (sign: string): number => lines.filter((line) => line.startsWith(sign)).length
  return `${many(count('+'), 'line')} added, ${count('-')} removed`
}
