import type { ContentBlock, SdkMessage } from '@halting/core'
import type { SdkAssistant, SdkUser } from '@halting/core/adapters'
import { elapsed, oneLine, printable } from '../io/figures.ts'
import type { Style } from '../io/style.ts'
import { inputSummary, resultSummary } from './summaries.ts'

/** Tells each step of a run in a few short lines: what the model says, each call with its input, each result. */
export function createStepPrinter(
  print: (text: string) => void,
  style: Style,
  width: number,
): (message: SdkMessage) => void {
  /** Names of the tools by call id. */
  const names = new Map<string, string>()
  const line = (text: string): void => print(`${text}\n`)

  const printAssistant = ({ message, error }: SdkAssistant): void => {
    for (const block of message.content) {
      if (block.type === 'text' && block.text.trim() !== '') {
        const text = printable(block.text).trim()
        line(error === undefined ? text : style.red(text))
      }
      if (block.type !== 'tool_use') continue
      names.set(block.id, block.name)
      line(
        `${style.green('●')} ${style.bold(block.name)} ${oneLine(inputSummary(block.input), width - block.name.length - 3)}`,
      )
    }
  }

  const printUser = ({ message: { content }, tool_use_result: details }: SdkUser): void => {
    const blocks: readonly ContentBlock[] = typeof content === 'string' ? [{ type: 'text', text: content }] : content
    for (const block of blocks) {
      if (block.type === 'text') line(style.dim(`  ${oneLine(block.text, width - 2)}`))
      if (block.type !== 'tool_result') continue
      const shown = oneLine(resultSummary(names.get(block.tool_use_id) ?? '', block.content, details), width - 4)
      line(block.is_error === true ? style.red(`  ✗ ${shown}`) : style.dim(`  ✓ ${shown}`))
    }
  }

  return (message) => {
    if (message.type === 'assistant') printAssistant(message)
    if (message.type === 'user') printUser(message)
    if (message.type !== 'system') return
    if (message.subtype === 'informational') line(style.yellow(`! ${oneLine(message.message, width - 2)}`))
    if (message.subtype !== 'api_retry') return
    const { attempt, max_retries: most, retry_delay_ms: delayMs, error } = message
    line(style.yellow(`! ${error}: trying again in ${elapsed(delayMs)} (${attempt} of ${most})`))
  }
}
