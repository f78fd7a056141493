import type { MessageContent, TranscriptEntry } from '@halting/core'
import { isOfPerson, isToolResult, isToolUse, textOf } from '@halting/core/adapters'
import type { Style } from '../../io/style.ts'
import type { Block } from '../screen/screen-port.ts'
import { blockOf, foldedLines, hanging } from '../view/lines.ts'
import { indentModelText } from '../view/model-text.ts'
import { toolTitle } from '../view/tool-title.ts'

interface Options {
  readonly width: number
  readonly style: Style
  readonly cwd: string
}

/** The whole conversation: messages, thinking, and calls with their input and full results. */
export function transcriptLines(entries: readonly TranscriptEntry[], options: Options): readonly string[] {
  return entries.flatMap((entry) => linesOf(entry, options))
}

function linesOf(entry: TranscriptEntry, options: Options): readonly string[] {
  const { width, style } = options
  switch (entry.kind) {
    case 'assistant':
      return entry.message.content.flatMap((block) => {
        if (block.type === 'text' && typeof block.text === 'string')
          return ['', ...modelTextBlock(block.text.trim()).render(width)]
        if (block.type === 'thinking' && typeof block.thinking === 'string')
          return ['', ...hanging('✻ ', block.thinking.trim(), width).map(style.dim)]
        return isToolUse(block) ? ['', ...callLines(block.name, block.input, options)] : []
      })
    case 'user':
      return userLines(entry, options)
    case 'compact_boundary':
      return ['', style.dim('↻ the conversation was compacted here')]
    case 'media_removed':
      return ['', ...hanging('! ', entry.note, width).map(style.yellow)]
    default:
      return []
  }
}

function modelTextBlock(text: string): Block {
  return indentModelText(blockOf((width) => foldedLines(text, width)))
}

function userLines(
  { message: { content }, origin }: Extract<TranscriptEntry, { readonly kind: 'user' }>,
  { width, style }: Options,
): readonly string[] {
  if (origin === 'tool_results' && typeof content !== 'string')
    return content.filter(isToolResult).flatMap((block) => {
      const text = textOf(block.content ?? '')
      const paint = block.is_error === true ? style.red : style.dim
      return foldedLines(text.trimEnd() === '' ? '(no output)' : text.trimEnd(), width - 2).map((line) =>
        paint(`  ${line}`),
      )
    })
  const who = isOfPerson({ origin }) ? '> ' : `[${origin}] `
  return ['', ...hanging(who, wholeText(content).trim(), width).map(who === '> ' ? style.bold : style.dim)]
}

/** Each text starts on a new line: attached files and outputs follow the message. */
function wholeText(content: MessageContent): string {
  return typeof content === 'string' ? content : content.map((block) => textOf([block]).trim()).join('\n')
}

function callLines(name: string, input: unknown, { width, style, cwd }: Options): readonly string[] {
  const title = toolTitle(name, input, cwd)
  const head = hanging('⏺ ', `${title.name} ${title.about}`.trimEnd(), width).map(style.bold)
  const whole = JSON.stringify(input, null, 2) ?? ''
  return whole.split('\n').length <= 3
    ? head
    : [...head, ...foldedLines(whole, width - 2).map((line) => style.dim(`  ${line}`))]
}
