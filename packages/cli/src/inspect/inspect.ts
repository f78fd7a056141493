import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { HaltingError } from '@halting/core'
import { messageOf } from '@halting/core/adapters'
import { exportedPage, readPageFiles, startInspector } from '@halting/inspector'
import { writeNewFile } from '../export/write-new.ts'
import type { Flags } from '../flags/flags.ts'
import { oneLine, programMessage } from '../io/figures.ts'
import type { Program } from '../program.ts'
import { findSessionFile } from '../stored-sessions/find-session.ts'
import { asUsageError } from '../stored-sessions/as-usage-error.ts'
import { UsageError } from '../usage-error.ts'
import { CatalogSource, type CatalogSessionSource } from '@halting/analysis/view'
import { spawn } from 'node:child_process'

/**
 * `halting inspect [SESSION|FOLDER|FILE …]`: serves a page about sessions to this machine until Ctrl-C; with `--output
 * FILE`, writes one session as a page.
 */
export async function inspect(flags: Flags, words: readonly string[], program: Program): Promise<number> {
  refuseConflicts(flags, words)
  if (flags.output !== undefined) return exportOne(flags.output, flags, words, program)
  const source = await openCatalog(flags, words, program)
  const address = await addressOfSession(source, words)
  const { output } = program
  const inspector = await startInspector({
    source,
    pageFolder: pageFolder(program),
    ...(flags.port !== undefined && { port: flags.port }),
    onProblem: (error) => output.err(programMessage(problemText(error))),
  })
  const url = inspector.url + address
  output.out(`${url}\n`)
  output.err(
    programMessage(
      `${oneLine(source.title, 200)}: open this address in a browser on this machine. Press Ctrl-C to stop.`,
    ),
  )
  if (flags.open === true)
    await openBrowser(url, program.env).catch((error: unknown) => {
      output.err(programMessage(`cannot open a browser: ${oneLine(messageOf(error), 200)}.`))
    })
  await waitForSignal()
  await inspector.close()
  return 0
}

/** @throws UsageError for flags that cannot be combined */
function refuseConflicts(flags: Flags, [word]: readonly string[]): void {
  if (flags.force === true && flags.output === undefined) throw new UsageError('--force requires --output FILE.')
  for (const [flag, given] of [
    ['--all', flags.all],
    ['--claude-code', flags.claudeCode],
    ['--codex', flags.codex],
  ] as const) {
    if (given === undefined) continue
    if (flags.output !== undefined)
      throw new UsageError(
        `--output writes one session. Leave out ${flag} and name the session: --output FILE SESSION.`,
      )
    if (flags.cluster !== undefined)
      throw new UsageError(
        `${flag} means sessions on this machine, --cluster those of a cluster. Use only one of them.`,
      )
  }
  if (flags.all === true && word !== undefined)
    throw new UsageError('--all shows the sessions of all folders. Leave it out, or the names.')
  if (flags.output !== undefined && (flags.open === true || flags.port !== undefined))
    throw new UsageError('--output writes a file and starts no server: leave out --open and --port.')
}

/** Catalogs report problems of the user's request as usage errors. */
function isUsageError(error: unknown): boolean {
  return error instanceof UsageError
}

async function openCatalog(flags: Flags, words: readonly string[], program: Program): Promise<CatalogSessionSource> {
  if (flags.cluster !== undefined) {
    const { ClusterCatalog } = await import('./cluster-catalog.ts')
    return new CatalogSource(await ClusterCatalog.open(flags, words, program), isUsageError)
  }
  const { openFileCatalog } = await import('./file-catalog.ts')
  return new CatalogSource(await openFileCatalog(flags, words, program), isUsageError)
}

/** The page address of the newest run if a single session is named; '' for several. @throws UsageError if the session cannot be read */
async function addressOfSession(source: CatalogSessionSource, words: readonly string[]): Promise<string> {
  const key = words.length === 1 ? await source.onlyKey() : undefined
  if (key === undefined) return ''
  const view = await asUsageError(source.session(key, 'beginning'))
  return `#/session/${encodeURIComponent(key)}/${Math.max(1, view?.row.runs ?? 1)}/timeline`
}

async function exportOne(
  file: string,
  flags: Flags,
  [word, ...more]: readonly string[],
  program: Program,
): Promise<number> {
  if (more.length > 0) throw new UsageError('--output writes one session. Name one: --output FILE SESSION.')
  const path =
    flags.cluster === undefined ? await findSessionFile(word, 'inspect --output it.html', program) : undefined
  const name = path ?? word
  if (name === undefined)
    throw new UsageError(`Name the session; halting sessions --cluster ${flags.cluster} lists those of the cluster.`)
  const source = await openCatalog(flags, [name], program)
  const key = await source.onlyKey()
  const view = key === undefined ? undefined : await asUsageError(source.session(key))
  if (view === undefined) throw new UsageError(`The session ${oneLine(name, 100)} is gone.`)
  const page = await readPageFiles(pageFolder(program))
  await writeNewFile(resolve(program.cwd, file), exportedPage({ page, view, source }), {
    displayName: file,
    isForced: flags.force === true,
    sources: path === undefined ? [] : [path],
  })
  program.output.err(programMessage(`wrote ${file}`))
  return 0
}

function pageFolder({ home }: Program): string {
  return fileURLToPath(new URL('dist/inspector/', home))
}

function problemText(error: unknown): string {
  const message = oneLine(messageOf(error), 500)
  return error instanceof HaltingError ? message : `internal error: ${message}`
}

/** Resolves at the first signal. The second one ends the program at once. */
function waitForSignal(): Promise<void> {
  const names = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  return new Promise((resolve) => {
    const end = (): void => {
      for (const name of names) process.off(name, end)
      resolve()
    }
    for (const name of names) process.on(name, end)
  })
}

/** The command that opens an address in the browser. */
function openerFor(platform: NodeJS.Platform): readonly [command: string, ...args: string[]] {
  if (platform === 'darwin') return ['open']
  // `start` takes the first quoted argument as a window title.
  return platform === 'win32' ? ['cmd', '/c', 'start', ''] : ['xdg-open']
}

/** Opens the address in a browser. Rejects if the command cannot be started; later failures are not reported. */
function openBrowser(url: string, env: Readonly<Record<string, string | undefined>>): Promise<void> {
  const [command, ...args] = openerFor(process.platform)
  return new Promise((resolve, reject) => {
    const opener = spawn(command, [...args, url], { env, detached: true, stdio: 'ignore' })
    opener.once('error', reject)
    opener.once('spawn', resolve)
    // The browser continues when the program exits.
    opener.unref()
  })
}
