import { endings, type Terminal } from '@halting/core'
import type { StepRecord } from '@halting/core/steps'
import type { OpenQuestion } from '@halting/restate'
import type { Flags } from '../flags/flags.ts'
import { closingLine, endingLine } from '../headless/ending.ts'
import { oneLine, told } from '../io/figures.ts'
import { shellQuoted } from '../io/shell-quote.ts'
import type { Program } from '../program.ts'

/** The newest answer of the model in these records. */
export function answerIn(records: readonly StepRecord[]): string {
  const added = records.flatMap((record) => {
    if (record.type === 'lap') return record.lap.added
    return record.type === 'end' ? (record.added ?? []) : []
  })
  const last = added.findLast((entry) => entry.kind === 'assistant' && entry.error === undefined)
  if (last?.kind !== 'assistant') return ''
  return last.message.content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n')
}

/** Where a call waits, and what lets it go on. */
export function questionLine(sessionId: string, { callId }: OpenQuestion, url: string): string {
  const command = (word: string): string => `halting ${shellQuoted([word, sessionId, callId, '--cluster', url])}`
  return told(`a call waits for an answer: ${command('approve')}, or ${command('deny')}`)
}

/** The last line on stderr: why it ended, as of a session of this machine. */
export function tellEnding(terminal: Terminal, flags: Flags, { output }: Program): void {
  if (endings[terminal.reason].exitCode === 0) {
    if (flags.quiet !== true && output.isTerminal.stderr) output.err(`${closingLine(terminal, '')}\n`)
    return
  }
  output.err(`${oneLine(`halting: ${endingLine(terminal, { flags, changes: '', errorKind: undefined })}`, Infinity)}\n`)
}
