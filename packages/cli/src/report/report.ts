import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { type Flags, wantsJson } from '../flags/flags.ts'
import { shownGradingSources } from '../grade/grading-sources.ts'
import { manySessions } from '../foreign/many-sessions.ts'
import { readAnySession, type AnySession } from '@halting/analysis/sessions'
import { oneLine, told } from '../io/figures.ts'
import { styleFor } from '../io/style.ts'
import type { Program } from '../program.ts'
import { UsageError } from '../usage-error.ts'
import { type Period, gatherReport, type Report } from '@halting/analysis/report'
import { periodOf } from './period.ts'
import { reportText } from './report-text.ts'
import { whichSessions, type Which } from './which.ts'

/** `halting report [FOLDER]`: what sessions cost, how they ended, what limits saved and lost, which tools fail. Asks nobody, changes nothing. */
export async function report(flags: Flags, words: readonly string[], program: Program): Promise<number> {
  const { output, env, cwd } = program
  const { format = 'text', output: file, force = false } = flags
  if (format !== 'text' && format !== 'html')
    throw new UsageError(`halting report writes text or html, not ${format}. --json gives all figures.`)
  if (wantsJson(flags) && flags.format !== undefined)
    throw new UsageError('--json and --format cannot be combined. Remove one of them.')
  const { found, sources } = await gathered(flags, words, program)
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
  const { writeNew } = await import('../export/write-new.ts')
  await writeNew(resolve(cwd, file), chunks, { shown: oneLine(file, 200), isForced: force, sources })
  output.err(told(`wrote ${oneLine(file, 200)}`))
  return 0
}

interface Gathered {
  readonly found: Report
  /** The files that it is told from. */
  readonly sources: readonly string[]
}

async function gathered(flags: Flags, words: readonly string[], program: Program): Promise<Gathered> {
  const which = await whichOf(flags, words, program)
  const now = Date.now()
  const period = periodOf(flags, which.isNamed, now)
  const isOfCluster = flags.cluster !== undefined
  const { names, read } = await manySessions<AnySession>(flags, words, program, {
    files: () => changedSince(which.files, period),
    ofFile: readAnySession,
    ofCluster: (session) => session,
  })
  const { of, below } = which
  const grading = shownGradingSources(program)
  const found = await gatherReport({ names, read }, { of, period, below, hasWriters: !isOfCluster, now, grading })
  return { found, sources: isOfCluster ? [] : names }
}

async function whichOf(flags: Flags, words: readonly string[], program: Program): Promise<Which> {
  const { cluster, since, untilDate, all, claudeCode, codex } = flags
  if (cluster === undefined) return whichSessions(flags, words, program)
  if (since !== undefined || untilDate !== undefined)
    throw new UsageError('A cluster does not keep when runs began: leave out --since and --until.')
  if (all === true || claudeCode === true || codex === true)
    throw new UsageError('--cluster means the sessions of a cluster: leave out --all, --claude-code and --codex.')
  return { of: `of the cluster ${new URL(cluster).host}`, isNamed: true, files: [], below: '' }
}

/** A file that was not written since is not read: no run in it can have begun later. */
async function changedSince(files: readonly string[], { since }: Period): Promise<readonly string[]> {
  if (since === null) return files
  const kept: string[] = []
  for (const file of files) {
    const stats = await stat(file).catch(() => undefined)
    // What is gone is told when it is read.
    if (stats === undefined || stats.mtimeMs >= since) kept.push(file)
  }
  return kept
}
