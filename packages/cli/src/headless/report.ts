import type { SdkMessage } from '@halting/core'
import type { OutputFormat } from '../flags/flags.ts'
import { jsonText } from '../io/json-text.ts'
import { programMessage } from '../io/figures.ts'
import type { Output } from '../io/output.ts'
import type { Watcher } from './watcher.ts'
import { pauseNote } from './pause-note.ts'
import { textReport, type ReportContext } from './text-report.ts'

const reports: { readonly [format in OutputFormat]: (context: ReportContext) => Watcher } = {
  text: textReport,
  json: ({ output, flags }) =>
    flags.verbose === true
      ? jsonArray(output)
      : { ...jsonLines(output, (message) => message.type === 'result'), onEvent: reportLeftTasks(output) },
  'stream-json': ({ output }) => ({ ...jsonLines(output, () => true), onEvent: reportPauses(output) }),
}

/** Creates the report of a run in the format that the flags select. */
export function createReport(context: ReportContext): Watcher {
  return reports[context.flags.outputFormat ?? 'text'](context)
}

/** Reports tasks that ended or were left running with the run, which are not part of the result. */
function reportLeftTasks(output: Output): Watcher['onEvent'] {
  const reportPause = reportPauses(output)
  return (event) => {
    reportPause(event)
    if (event.type !== 'message' || event.entry.kind !== 'attachment' || event.entry.tasks === undefined) return
    const { attachment } = event.entry
    if (attachment.type === 'informational') output.err(programMessage(attachment.message))
  }
}

/** Reports long pauses on stderr, in every format. */
function reportPauses(output: Output): Watcher['onEvent'] {
  const onEvent: Watcher['onEvent'] = (event) => {
    if (event.type === 'agent') return onEvent(event.event)
    const note = pauseNote(event, Date.now())
    if (note !== undefined) output.err(programMessage(note))
  }
  return onEvent
}

function jsonLines(output: Output, isWanted: (message: SdkMessage) => boolean): Watcher {
  const see = (message: SdkMessage): void => {
    if (isWanted(message)) output.out(jsonLine(message))
  }
  return {
    onEvent: () => undefined,
    see,
    after: see,
    end: () => undefined,
    release: () => undefined,
  }
}

/** Every message as one array, with one element per line. */
function jsonArray(output: Output): Watcher {
  let before = '['
  let isEnded = false
  const see = (message: SdkMessage): void => {
    output.out(`${before}${jsonText(message)}`)
    before = ',\n'
  }
  return {
    onEvent: reportPauses(output),
    see,
    after: see,
    end: () => {
      isEnded = true
    },
    // Messages after the run are elements, too.
    release: () => {
      if (isEnded) output.out(`${before === '[' ? '[' : ''}]\n`)
    },
  }
}

function jsonLine(message: SdkMessage): string {
  return `${jsonText(message)}\n`
}
