import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { type Flags, wantsJson } from '../flags/flags.ts'
import { gradingSourcesForDisplay } from '../grade/grading-sources.ts'
import { openSessionSet } from '../foreign/session-set.ts'
import { readAnySession, type AnySession } from '@halting/analysis/sessions'
import { oneLine, programMessage } from '../io/figures.ts'
import { styleFor } from '../io/style.ts'
import type { Program } from '../program.ts'
import { UsageError } from '../usage-error.ts'
import { type Period, gatherReport, type Report } from '@halting/analysis/report'
import { reportPeriod } from './period.ts'
import { reportText } from './report-text.ts'
import { reportScope, type ReportScope } from './report-scope.ts'

/** `halting report [FOLDER]`: summarizes what sessions cost, how they ended, what limits saved and lost, and which tools failed. Makes no request. */
export async function report(flags: Flags, words: readonly string[], program: Program): Promise<number> {
  const { output, env, cwd } = program
  const { format = 'text', output: file, force = false } = flags
  if (format !== 'text' && format !== 'html')
    throw new UsageError(`halting report writes text or html, not ${format}. --json gives all figures.`)
  if (wantsJson(flags) && flags.format !== undefined)
    throw new UsageError('--json and --format cannot be combined. Remove one of them.')
  const { found, sources } = await gather(flags, words, program)
  const style = styleFor(output.isTerminal.stdout && file === undefined, env)
  const chunks = wantsJson(flags)
    ? [`${JSON.stringify(found)}\n`]
    : format === 'html'
      ? (await import('@halting/analysis/report')).reportHtml(found, flags.by)
      : [reportText(found, { by: flags.by, width: output.width, style })]
  if (file === undefined) {
    for (const chunk of chunks) output.out(chunk)
    return 0
  }
  const { writeNewFile } = await import('../export/write-new.ts')
  await writeNewFile(resolve(cwd, file), chunks, { displayName: oneLine(file, 200), isForced: force, sources })
  output.err(programMessage(`wrote ${oneLine(file, 200)}`))
  return 0
}

interface GatheredReport {
  readonly found: Report
  /** The session files that the report covers. */
  readonly sources: readonly string[]
}

async function gather(flags: Flags, words: readonly string[], program: Program): Promise<GatheredReport> {
  const scope = await scopeOf(flags, words, program)
  const now = Date.now()
  const period = reportPeriod(flags, scope.isNamed, now)
  const isOfCluster = flags.cluster !== undefined
  const { names, read } = await openSessionSet<AnySession>(flags, words, program, {
    files: () => filesChangedSince(scope.files, period),
    ofFile: readAnySession,
    ofCluster: (session) => session,
  })
  const { of, below } = scope
  const grading = gradingSourcesForDisplay(program)
  const found = await gatherReport({ names, read }, { of, period, below, hasWriters: !isOfCluster, now, grading })
  return { found, sources: isOfCluster ? [] : names }
}

async function scopeOf(flags: Flags, words: readonly string[], program: Program): Promise<ReportScope> {
  const { cluster, since, untilDate, all, claudeCode, codex } = flags
  if (cluster === undefined) return reportScope(flags, words, program)
  if (since !== undefined || untilDate !== undefined)
    throw new UsageError('A cluster does not store when runs started. Remove --since and --until.')
  if (all === true || claudeCode === true || codex === true)
    throw new UsageError('--cluster means the sessions of a cluster. Remove --all, --claude-code and --codex.')
  return { of: `of the cluster ${new URL(cluster).host}`, isNamed: true, files: [], below: '' }
}

/** Skips files that were not modified in the period, since they contain no run of it. */
async function filesChangedSince(files: readonly string[], { since }: Period): Promise<readonly string[]> {
  if (since === null) return files
  const changed: string[] = []
  for (const file of files) {
    const stats = await stat(file).catch(() => undefined)
    // A missing file is reported when it is read.
    if (stats === undefined || stats.mtimeMs >= since) changed.push(file)
  }
  return changed
}
