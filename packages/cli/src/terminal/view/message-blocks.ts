import type { RunEvent, MessageContent } from '@halting/core'
import { goalLine } from '../../frontends/goal-words.ts'
import { many, oneLine } from '../../io/figures.ts'
import { contextChangeOf } from '../../headless/context-changes.ts'
import type { Style } from '../../io/style.ts'
import type { Block } from '../screen/screen-port.ts'
import { blockOf, foldedLines, hanging, headOfLines } from './lines.ts'
import { attachmentLabels, promptText } from './prompt-text.ts'
import { resultText } from '../../frontends/result-figure.ts'

const maxPromptLines = 30

/** A message of the person. `tag`: how it was delivered, if during a run. */
export function promptBlock(content: MessageContent, style: Style, tag = ''): Block {
  const text = promptText(content)
  const also = attachmentLabels(content)
  return blockOf((width) => {
    const lines = headOfLines(foldedLines(text, width - 2), maxPromptLines, width - 2)
    const shown = lines.map((line, index) => (index === 0 ? `${style.bold('>')} ${line}` : `  ${line}`.trimEnd()))
    const last = tag === '' ? [] : hanging('  ', tag, width).map(style.dim)
    const more = also.flatMap((what) => hanging('  + ', what, width).map(style.dim))
    // Preceded by an empty line, because it starts something new.
    return ['', ...shown, ...more, ...last]
  })
}

const maxThinkingLines = 2

/** Thinking of the model, shortened. */
export function thinkingBlock(text: string, style: Style): Block {
  return blockOf((width) =>
    headOfLines(foldedLines(text.trim().replaceAll(/\n\s*\n/g, '\n'), width - 2), maxThinkingLines + 1, width - 2).map(
      (line, index) => style.dim((index === 0 ? '✻ ' : '  ') + line),
    ),
  )
}

/** A block with a notice for the person. */
export function noticeBlock(text: string, style: Style): Block {
  return blockOf((width) => hanging('! ', text, width).map(style.yellow))
}

/** A minor event, dim. */
export function dimBlock(mark: string, text: string, style: Style): Block {
  return blockOf((width) => hanging(mark, text, width).map(style.dim))
}

/** The result of a round of goal checks; highlighted if it is not met. Names files that the checks changed. */
export function goalBlocks(
  goals: readonly string[],
  event: Extract<RunEvent, { readonly type: 'goal_end' }>,
  style: Style,
): readonly Block[] {
  const paint = event.met ? style.green : event.place === 'baseline' ? style.dim : style.yellow
  const { changedByChecks: files } = event
  const report = event.met ? '' : (event.checks.at(-1)?.tail ?? '').trim()
  const changed =
    files.length === 0 ? '' : `The check changed ${many(files.length, 'file')}: ${oneLine(files.join(', '), 200)}.`
  return [
    blockOf((width) => hanging('⏺ ', goalLine(goals, event), width).map(paint)),
    ...(report === '' ? [] : [reportBlock(report, style)]),
    ...(changed === '' ? [] : [dimBlock('  ', changed, style)]),
  ]
}

const maxReportLines = 4

/** The end of a check's output. */
function reportBlock(report: string, style: Style): Block {
  return blockOf((width) =>
    foldedLines(report, width - 2)
      .slice(-maxReportLines)
      .map((line) => style.dim(`  ${line}`.trimEnd())),
  )
}

/** A block with an error. */
export function errorBlock(text: string, style: Style): Block {
  return blockOf((width) => hanging('✗ ', text, width).map(style.red))
}

const maxHookLines = 4

/** What a hook or the loop sent to the model. */
export function modelMessageBlock(who: string, content: MessageContent, style: Style): Block {
  return blockOf((width) =>
    headOfLines(foldedLines(`${who}: ${resultText(content).trim()}`, width - 2), maxHookLines, width - 2).map(
      (line, index) => style.dim((index === 0 ? '· ' : '  ') + line),
    ),
  )
}

/** A change of the context window; undefined for other events. */
export function contextChangeBlock(event: RunEvent, style: Style): Block | undefined {
  const news = contextChangeOf(event)
  if (news === undefined) return undefined
  return news.kind === 'not compacted' ? noticeBlock(news.text, style) : dimBlock('↻ ', news.text, style)
}

/** The stop signals that a hook overrode. */
export function overriddenText({ by, signals }: Extract<RunEvent, { readonly type: 'signals_overridden' }>): string {
  const named = signals.map((signal) => (signal.message === '' ? signal.reason : signal.message)).join('; ')
  return `${by} let the run continue despite ${many(signals.length, 'stop signal')}: ${named}`
}
