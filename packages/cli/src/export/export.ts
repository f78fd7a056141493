import { randomUUID } from 'node:crypto'
import { open, realpath, rename, rm, stat, type FileHandle } from 'node:fs/promises'
import { resolve } from 'node:path'
import { wholeLines } from '@halting/agent'
import { messageOf } from '@halting/core/adapters'
import type { Flags } from '../flags/flags.ts'
import { oneLine, told } from '../io/figures.ts'
import type { Program } from '../program.ts'
import { findFile, readSession } from '../session/find-session.ts'
import { UsageError } from '../usage-error.ts'
import { goOn } from '../why/go-on.ts'
import { terminalOf } from '../why/terminal-of.ts'
import { plainText, toldSession, type ToldSession } from '@halting/inspector'

/** `halting sessions export ID --format jsonl|markdown|html [--output FILE]` (spec R-SESS-9). */
export async function exportSession(
  { format = 'html', output: file, force }: Flags,
  given: string,
  program: Program,
): Promise<number> {
  const { output, cwd } = program
  const path = await findFile(given, 'sessions export', program)
  const chunks = await exported(path, format)
  if (file === undefined) {
    for (const chunk of chunks) output.out(chunk)
    return 0
  }
  await writeNew(resolve(cwd, file), chunks, { shown: file, isForced: force === true, source: path })
  output.err(told(`wrote ${file}`))
  return 0
}

async function exported(path: string, format: NonNullable<Flags['format']>): Promise<Iterable<string>> {
  // Also for lines: what is damaged is told in the same way.
  const journal = await readSession(path)
  if (format === 'jsonl') return wholeLines(path)
  const session = toldSession(journal)
  const title = titleOf(session)
  if (format === 'markdown') {
    const { markdownOf } = await import('./markdown.ts')
    return markdownOf(session, title)
  }
  const { htmlOf } = await import('./html.ts')
  const last = journal.runs.at(-1)
  const where = { sessionId: journal.sessionId, sessionCwd: journal.cwd, cwd: journal.cwd }
  return htmlOf(session, title, last === undefined ? { says: '' } : goOn(terminalOf(last), where))
}

/** What was asked first. */
function titleOf({ runs, sessionId }: ToldSession): string {
  for (const { parts } of runs)
    for (const part of parts) if (part.kind === 'person') return oneLine(plainText(part.content), 100)
  return `Session ${sessionId}`
}

/** A file that is there whole or not at all, for the person alone. What is there already stays, unless it is told to go. */
async function writeNew(
  path: string,
  chunks: Iterable<string>,
  { shown, isForced, source }: { readonly shown: string; readonly isForced: boolean; readonly source: string },
): Promise<void> {
  const [there, from] = [await realpath(path).catch(() => undefined), await realpath(source)]
  if (there === from) throw new UsageError(`${shown} is the session itself. Name another file.`)
  const kind = await stat(path).catch(() => undefined)
  // A device or a pipe would give way to a file of that name.
  if (kind?.isFile() === false) throw new UsageError(`${shown} is no file. Without --output it is written to stdout.`)
  const refusal = (): UsageError => new UsageError(`${shown} is there already. Name another file, or add --force.`)
  if (there !== undefined && !isForced) throw refusal()
  // A file that is not there is made: nothing is written over one that came to be meanwhile.
  const target = isForced ? `${path}.${randomUUID()}.part` : path
  let handle: FileHandle | undefined
  try {
    handle = await open(target, 'wx', 0o600)
    for (const chunk of chunks) await handle.appendFile(chunk)
    await handle.close()
    if (isForced) await rename(target, path)
  } catch (thrown) {
    if (handle === undefined && codeOf(thrown) === 'EEXIST') throw refusal()
    await handle?.close().catch(() => {})
    if (handle !== undefined) await rm(target, { force: true })
    throw new UsageError(`${shown} cannot be written: ${messageOf(thrown)}`)
  }
}

function codeOf(thrown: unknown): unknown {
  return thrown instanceof Error && 'code' in thrown ? thrown.code : undefined
}
