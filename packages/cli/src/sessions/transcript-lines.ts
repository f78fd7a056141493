import type { ContentBlock, ModelMessage, Transcript, TranscriptEntry } from '@halting/core'
import { inputSummary } from '@halting/analysis/words'
import { oneLine } from '../io/figures.ts'

/** A conversation, one line per part: `> ` before user input, `● ` before calls, an indent before results. */
export function transcriptLines(transcript: Transcript, width: number): readonly string[] {
  const writers = writersOf(transcript)
  return transcript.messages().flatMap((message) => linesOfMessage(message, messageMark(message, writers), width))
}

function linesOfMessage({ content }: ModelMessage, mark: string, width: number): readonly string[] {
  const line = (text: string): string => oneLine(`${mark}${text}`, width)
  if (typeof content === 'string') return [line(content)]
  return content.flatMap((block: ContentBlock) => {
    if (block.type === 'text') return [line(block.text)]
    if (block.type === 'tool_use') return [oneLine(`● ${block.name} ${inputSummary(block.input)}`, width)]
    if (block.type !== 'tool_result') return []
    return [`  ${oneLine(typeof block.content === 'string' ? block.content : '[content]', width - 2)}`]
  })
}

function messageMark(message: ModelMessage, writers: Writers): string {
  if (message.role === 'assistant') return ''
  const writer = writers.get(messageKey(message))
  return writer === undefined ? '> ' : `[${writer}] `
}

/** The writer of each message, by its content; undefined for the user. */
type Writers = ReadonlyMap<string, string | undefined>

function writersOf(transcript: Transcript): Writers {
  const writers = new Map<string, string | undefined>()
  for (const entry of transcript)
    for (const { message, writer } of messagesOf(entry)) {
      const key = messageKey(message)
      // A compaction repeats messages. If the user wrote the same text, it counts as the user's.
      if (writer === undefined || !writers.has(key)) writers.set(key, writer)
    }
  return writers
}

interface WrittenMessage {
  readonly message: ModelMessage
  readonly writer: string | undefined
}

function messagesOf(entry: TranscriptEntry): readonly WrittenMessage[] {
  if (entry.kind === 'compact_boundary') return entry.messages.map((message) => ({ message, writer: 'summary' }))
  return entry.kind === 'user' ? [{ message: entry.message, writer: writerOf[entry.origin] }] : []
}

const writerOf = {
  prompt: undefined,
  steer: undefined,
  follow_up: undefined,
  tool_results: undefined,
  hook: 'hook',
  loop: 'loop',
  interruption: 'interruption',
} as const

const messageKey = ({ content }: ModelMessage): string => JSON.stringify(content)
