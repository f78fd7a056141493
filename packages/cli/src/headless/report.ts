import { endings, type SdkMessage, type Terminal } from '@halting/core'
import type { Flags, OutputFormat } from '../flags/flags.ts'
import { many, oneLine, printable } from '../io/figures.ts'
import type { Output } from '../io/output.ts'
import type { Style } from '../io/style.ts'
import { followAnswer, type LastAnswer } from './answer.ts'
import { endingLine } from './ending.ts'
import type { Watcher } from './run.ts'
import { createStepPrinter } from './step-printer.ts'

const reports: { readonly [format in OutputFormat]: (flags: Flags, output: Output, style: Style) => Watcher } = {
  text: textReport,
  json: (_, output) => jsonLines(output, (message) => message.type === 'result'),
  'stream-json': (_, output) => jsonLines(output, () => true),
}

/** Says in the format that the flags ask for what a run tells. */
export function createReport(flags: Flags, output: Output, style: Style): Watcher {
  return reports[flags.outputFormat ?? 'text'](flags, output, style)
}

function jsonLines(output: Output, isWanted: (message: SdkMessage) => boolean): Watcher {
  return {
    see: (message) => {
      if (isWanted(message)) output.out(jsonLine(message))
    },
    end: () => undefined,
  }
}

/** One line, whatever is in it: JSON escapes line feeds, and these two end a line for some readers. */
function jsonLine(message: SdkMessage): string {
  const json = JSON.stringify(message)
    .replaceAll('\u2028', String.raw`\u2028`)
    .replaceAll('\u2029', String.raw`\u2029`)
  return `${json}\n`
}

/** The last answer on stdout; on stderr what was denied, and why it ended when that was no success. */
function textReport(flags: Flags, output: Output, style: Style): Watcher {
  const answer = followAnswer()
  const denials: string[] = []
  const printStep =
    flags.verbose === true ? createStepPrinter((text) => output.err(text), style, output.width) : () => undefined
  return {
    see(message) {
      answer.see(message)
      printStep(message)
      if (message.type === 'result') say(message.result ?? answer.text, output)
      if (message.type !== 'system' || message.subtype !== 'permission_denied') return
      denials.push(`${message.tool_name}: ${message.message}`)
    },
    end(terminal) {
      const [first] = denials
      if (first !== undefined) output.err(`halting: ${many(denials.length, 'call')} denied. ${oneLine(first, 300)}\n`)
      if (endings[terminal.reason].exitCode === 0) return
      output.err(`halting: ${endingLine(terminal, errorKindOf(terminal, answer))}\n`)
    },
  }
}

function say(text: string, output: Output): void {
  if (text === '') return
  const shown = output.isTerminal.stdout ? printable(text) : text
  output.out(shown.endsWith('\n') ? shown : `${shown}\n`)
}

function errorKindOf({ error }: Terminal, answer: LastAnswer): string | undefined {
  const kind = error !== undefined && 'kind' in error ? error.kind : undefined
  return typeof kind === 'string' ? kind : answer.errorKind
}
